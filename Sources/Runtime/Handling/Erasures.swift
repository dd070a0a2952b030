public import Events
package import Postgres

/// The people among `events` who were erased at the time of an event or later, and what is left of the
/// events.
///
/// Every transaction that applies events asks it before it writes their effects, so that nothing returns
/// after it was forgotten. The transaction must have a transaction id already: a sweep waits for those that
/// asked too early (`ErasureSweep`).
package struct Erasures {
  private struct Erasure {
    var at: EventTime
    /// When no table named the person any more.
    var doneAt: EventTime?
    /// The workers that have not erased the person yet.
    var waitsFor: [String?]
    /// Of the id.
    var hash: String
  }

  private let people: [BytewiseString: Erasure]

  /// Reads the erasures of people, as far as they matter: a hash takes longer than an index look-up, and what happens
  /// now is later than all erasures.
  ///
  /// - Parameters:
  ///   - things: when each happened, nil being before every erasure, and whom it names.
  ///   - opening: statements to run before, in the same round trip.
  package init(
    naming things: some Sequence<(time: EventTime?, ids: [String])>,
    after opening: [Statement] = [],
    on connection: Connection
  ) throws {
    var ids: Set<BytewiseString> = []
    let newest = try connection.pipeline(
      opening + [Statement("SELECT max(erased_at) FROM erasures")]
    ).last?.only.timestamptzOrNil(0)
    if let newest {
      for thing in things where thing.time.map({ $0.microseconds <= newest }) ?? true {
        ids.formUnion(thing.ids.lazy.map { BytewiseString($0) })
      }
    }
    guard !ids.isEmpty else {
      people = [:]
      return
    }
    let rows = try connection.query(
      """
      SELECT i.id, e.erased_at, e.done_at, e.waits_for, encode(e.person_hash, 'hex')
      FROM unnest($1::text[]) AS i (id)
      CROSS JOIN LATERAL (
        SELECT erased_at, person_hash, done_at, waits_for FROM erasures WHERE person_hash = person_hash(i.id) LIMIT 1) AS e
      """, [.textArray(ids.map(\.string))])
    people = Dictionary(
      try rows.map {
        (
          BytewiseString(try $0.text(0)),
          Erasure(
            at: EventTime(microseconds: try $0.timestamptz(1)),
            doneAt: try $0.timestamptzOrNil(2).map(EventTime.init),
            waitsFor: try $0.textArray(3), hash: try $0.text(4))
        )
      }, uniquingKeysWith: { first, _ in first })
  }

  /// The erasure of the person with this id, if there is one. While it goes on, whatever workers published until now may
  /// name the person.
  package subscript(id: String) -> PersonErasure? {
    people[BytewiseString(id)].map {
      PersonErasure(
        erasedAt: $0.at, doneAt: $0.doneAt ?? .now, formerID: FormerPerson.id(hash: $0.hash))
    }
  }

  /// Whether the worker has yet to erase the person.
  package func isAwaited(_ id: String, of worker: String) -> Bool {
    people[BytewiseString(id)]?.waitsFor.contains(worker) ?? false
  }

  /// The events that still have an effect, without the names of erased people.
  ///
  /// - Parameter keepsMessages: whether a message to an erased person stays its sender's.
  package func forgetting(_ events: [Event], keepsMessages: Bool) -> [Event] {
    // In an archive that was erased, messages to former people are those of their senders already.
    let events = keepsMessages ? events : events.filter { !$0.isToFormerPerson }
    guard !people.isEmpty else { return events }
    return events.compactMap { event in
      event.forgetting(
        formerReceiver: { receiver in
          keepsMessages
            ? people[BytewiseString(receiver)].map { FormerPerson.id(hash: $0.hash) } : nil
        },
        isErased(at: event.causedAt))
    }
  }

  /// The events of which nothing is left, but for those to former people, which are in archives only: nobody has applied
  /// them before.
  package func erased(_ events: [Event], keepsMessages: Bool) -> [ErasedEvent] {
    events.filter { !$0.isToFormerPerson && forgetting([$0], keepsMessages: keepsMessages).isEmpty }
      .map { ErasedEvent($0, isErased: isErased(at: $0.time)) }
  }

  private func isErased(at time: EventTime) -> @Sendable (String) -> Bool {
    { [people] id in people[BytewiseString(id)].map { time <= $0.at } ?? false }
  }
}

extension Event {
  fileprivate var isToFormerPerson: Bool {
    guard case .messageSent(let data) = payload else { return false }
    return FormerPerson.has(id: data.receiver)
  }
}

extension Handler {
  /// What the handler does about the events that are not erased.
  ///
  /// - Parameter opening: statements to run before.
  package func applyUnerased(
    _ events: [Event], topic: Topic, after opening: [Statement] = [], on connection: Connection
  ) throws -> Work {
    guard !events.isEmpty else {
      _ = try connection.pipeline(opening)
      return Work([])
    }
    let erasures = try Erasures(
      naming: events.lazy.map { ($0.causedAt, $0.people) }, after: opening, on: connection)
    let left = erasures.forgetting(events, keepsMessages: keepsMessagesToErased)
    let work = left.isEmpty ? Work([]) : try apply(topic, left)
    guard let afterErased, left.count < events.count else { return work }
    let after = try afterErased(
      topic, erasures.erased(events, keepsMessages: keepsMessagesToErased))
    return Work(joining: [work, Work { _ in Outcome(further: after) }])
  }
}

extension Handler {
  /// Commits what the handler does ahead of a batch with these events, if anything; else does not ask for them.
  package func runAhead(
    _ events: @autoclosure () -> [Event], topic: Topic, on connection: Connection
  ) throws {
    guard let ahead else { return }
    let handler = Handler(name: name, topics: topics, apply: ahead)
    _ = try connection.transaction {
      try handler.applyUnerased(
        events(), topic: topic, after: [Statement("SELECT pg_current_xact_id()")], on: connection
      ).run(on: connection)
    }
  }
}

/// The work of a worker for `user.erased` events: remembers them for good, and queues the people for its sweep.
///
/// - Parameter worker: the handler's name.
public func erasuresWork(_ events: [Event], worker: String) -> Work {
  let newest = newest(events) { BytewiseString($0.key) }
    .sorted { BytewiseString($0.key) < BytewiseString($1.key) }
  let parameters: [Parameter] = [
    .textArray(newest.map(\.key)), .timestamptzArray(newest.map(\.time.microseconds)),
  ]
  return Work([
    // The queue first: a sweep also locks its person there before it locks the row of `erasures`.
    Statement(
      """
      INSERT INTO \(worker)_erasures AS q (user_id, erased_at)
      SELECT e.id, e.at FROM unnest($1::text[], $2::timestamptz[]) AS e (id, at)
      ON CONFLICT (user_id) DO UPDATE
        SET erased_at = greatest(q.erased_at, excluded.erased_at), \(fromTheBeginning)
      """, parameters),
    Statement("SELECT remember_erasures($1, $2)", parameters),
  ])
}
