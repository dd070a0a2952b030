public import Events
public import Postgres

extension Handler {
  /// Applies events of one topic in one transaction, or in several if the handler throws
  /// `BatchTooLarge`. Uses no broker and no fence: for tests and measurements of a handler alone.
  /// Returns the events that a lane would publish.
  ///
  /// Rethrows errors of the statements after rolling the transaction back.
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

  /// Applies events in the open transaction of `connection`. For handlers that publish no events and
  /// never throw `BatchTooLarge`.
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

  /// Runs one piece of what is due for the people of `partitions` in a transaction, without a fence.
  @discardableResult
  public func runDueDirectly(partitions: [Int32], on connection: Connection) throws -> Outcome {
    guard let due else { return Outcome() }
    let turn = Turn(partitions: partitions, fence: Statement("SELECT"))
    let outcome = try connection.transaction { try due(turn).run(on: connection) }
    outcome.afterCommit?()
    return outcome
  }
}

extension Work {
  /// Runs all statements and copies in the open transaction of `connection`. `opening` runs first, in
  /// the same round trip as `statements`.
  package func run(after opening: [Statement] = [], on connection: Connection) throws -> Outcome {
    let rows = try connection.pipeline(opening + statements)
    var outcome = try finish(Results(rows.dropFirst(opening.count)))
    let written = outcome.statements.isEmpty ? [] : try connection.pipeline(outcome.statements)
    for copy in outcome.copies { try connection.copyIn(copy.sql, copy.write) }
    if let further = outcome.eventsFromResults { outcome.events += try further(written) }
    return outcome
  }
}
