public import Events
public import Postgres

extension Handler {
  /// Applies events of one topic in one transaction, or in several where the handler finds them too
  /// much for one; without a broker and without a fence: for tests, and for measuring a handler alone.
  /// Returns what would be produced.
  ///
  /// Throws what the statements throw; the transaction is rolled back then.
  @discardableResult
  public func applyDirectly(_ events: [Event], topic: Topic, on connection: Connection) throws
    -> Outcome
  {
    do {
      return try connection.transaction { try apply(topic, events).run(on: connection) }
    } catch let tooLarge as BatchTooLarge where events.count > 1 {
      var whole = Outcome()
      var rest = events[...]
      for size in tooLarge.sizes where !rest.isEmpty {
        let outcome = try applyDirectly(Array(rest.prefix(size)), topic: topic, on: connection)
        whole.events += outcome.events
        whole.counts.merge(outcome.counts, uniquingKeysWith: +)
        rest = rest.dropFirst(size)
      }
      return whole
    }
  }

  /// Applies events as part of the transaction that is open on `connection`. For events of a handler
  /// that makes none itself, and to which no number of them is too large.
  public func apply(_ events: [Event], inTransactionOf connection: Connection) throws {
    for (topic, events) in Dictionary(grouping: events, by: \.topic) {
      _ = try apply(topic, events).run(on: connection)
    }
  }

  /// Runs one piece of the backlog in a transaction.
  @discardableResult
  public func runBacklogDirectly(on connection: Connection) throws -> Outcome {
    guard let backlog else { return Outcome() }
    return try connection.transaction { try backlog().run(on: connection) }
  }
}

extension Work {
  /// All of it, inside the transaction that is open on `connection`. `opening` goes with
  /// the first.
  package func run(after opening: [Statement] = [], on connection: Connection) throws -> Outcome {
    let outcome = try runStatements(after: opening, on: connection)
    if !outcome.statements.isEmpty { _ = try connection.pipeline(outcome.statements) }
    for copy in outcome.copies { try connection.copyIn(copy.sql, copy.write) }
    return outcome
  }

  /// The first round trip alone; returns what remains to be done.
  package func runStatements(after opening: [Statement] = [], on connection: Connection) throws
    -> Outcome
  {
    let rows = try connection.pipeline(opening + statements)
    return try finish(Results(rows.dropFirst(opening.count)))
  }
}
