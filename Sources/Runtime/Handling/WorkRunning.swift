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
      let outcome = try connection.transaction {
        // What a sweep waits for is the transaction's id: see `Erasures`.
        let opening = [Statement("SELECT pg_current_xact_id()")]
        return try applyUnerased(events, topic: topic, after: opening, on: connection)
          .run(on: connection)
      }
      outcome.afterCommit?()
      return outcome
    } catch let tooLarge as BatchTooLarge where events.count > 1 {
      var whole = Outcome()
      var rest = events[...]
      // The sizes count what was left of the events: the last piece is all that remains.
      for size in tooLarge.sizes.dropLast() + [events.count] where !rest.isEmpty {
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
      _ = try applyUnerased(events, topic: topic, on: connection).run(on: connection)
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
  /// Runs all statements and copies in the open transaction of `connection`.
  package func run(on connection: Connection) throws -> Outcome {
    var outcome = try finish(Results(try connection.pipeline(statements)[...]))
    let written = outcome.statements.isEmpty ? [] : try connection.pipeline(outcome.statements)
    for copy in outcome.copies { try connection.copyIn(copy.sql, copy.write) }
    if let further = outcome.eventsFromResults { outcome.events += try further(written) }
    guard let further = outcome.further else { return outcome }
    outcome.further = nil
    outcome.add(try further.run(on: connection))
    return outcome
  }
}
