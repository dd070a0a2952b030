import Events
import Foundation
import Handling
import Postgres
import Schedules
import Synchronization
import TestSupport
import Testing

@testable import Reminders

/// reminder-worker's handler on a database of its own, with a clock that the test sets. For use by one
/// thread.
final class ClockedWorker {
  private final class Clock: Sendable {
    let time = Mutex(EventTime(microseconds: 0))
  }

  let url: String
  let connection: Connection
  let admin: Connection
  /// What was published, in order. A piece that failed has published nothing here.
  private(set) var published: [Event] = []
  private let clock = Clock()
  private let handler: Handler

  init(at time: String, lateBoundSeconds: Int = 86_400) throws {
    url = try TestDatabase.fresh()
    admin = try Connection(url, applicationName: "test")
    connection = try Connection(url, applicationName: "test")
    _ = try connection.query("SET ROLE magpie_reminder")
    let clock = clock
    handler = reminderHandler(
      zones: ZoneDirectory(), secret: Array("a secret of thirty-two bytes, ok".utf8),
      lateBoundSeconds: lateBoundSeconds, clock: { clock.time.withLock { $0 } })
    try set(time)
  }

  func set(_ time: String) throws { set(try EventTime(rfc3339: time)) }

  func set(_ time: EventTime) { clock.time.withLock { $0 = time } }

  /// Applies events as one batch per topic, and rings nothing.
  func apply(_ events: [Event]) throws {
    for topic in handler.topics {
      let batch = events.filter { $0.topic == topic }
      if !batch.isEmpty { try handler.applyDirectly(batch, topic: topic, on: connection) }
    }
  }

  /// Applies one event.
  func apply(_ payload: Payload, at time: String, id: String = UUID().uuidString) throws {
    try apply([
      Event(id: id, source: "test", time: try EventTime(rfc3339: time), payload: payload)
    ])
  }

  /// Rings what is due at the clock's time; returns what was published.
  @discardableResult
  func ring() throws -> [String] {
    var events: [Event] = []
    while true {
      let outcome = try handler.runDueDirectly(partitions: [0], on: connection)
      events += outcome.events
      if !outcome.hasMore { break }
    }
    published += events
    return try events.map(Self.line)
  }

  /// Runs one piece of what is due.
  func ringPiece(halvings: Int = 0) throws -> Outcome {
    let turn = Turn(partitions: [0], fence: Statement("SELECT"), halvings: halvings)
    let due = try #require(handler.due)
    return try connection.transaction { try due(turn).run(on: connection) }
  }

  /// Sets the clock and rings what is due.
  func ring(at time: String) throws -> [String] {
    try set(time)
    return try ring()
  }

  /// Works on what is being forgotten.
  func sweep() throws { try handler.runBacklogDirectly(on: connection) }

  /// The number that the metrics show.
  func overdue() throws -> Int {
    let overdue = try #require(handler.overdue)
    let statement = overdue()
    return try connection.query(statement.sql, statement.parameters).only.int(0)
  }

  /// Publishes like a process that is killed before COMMIT.
  func ringAndFail() throws -> [Event] {
    struct Killed: Error {}
    var events: [Event] = []
    do {
      try connection.transaction {
        let turn = Turn(partitions: [0], fence: Statement("SELECT"))
        events = try handler.due?(turn).run(on: connection).events ?? []
        throw Killed()
      }
    } catch is Killed {}
    return events
  }

  /// Such as `ann r1 2026-11-23T07:00:00 due 2026-11-22T22:00:00Z: title`.
  static func line(_ event: Event) throws -> String {
    switch event.payload {
    case .alarmRaised(let data):
      let late = data.arguments["due"].map { " late \($0)" } ?? ""
      let text = data.arguments["text"] ?? data.arguments["alarms"] ?? ""
      return
        "\(data.recipient) \(data.subject) \(data.source) due \(event.time.rfc3339): \(text)\(late)"
    case .alarmWithdrawn(let data):
      return "\(data.recipient) \(data.subject) \(data.source) withdrawn"
    default: return "\(event.type)"
    }
  }
}

extension Payload {
  static func reminder(
    _ reminder: String, of user: String = "ann", _ title: String = "title", at local: String = "",
    zone: String = "", instant: String = "", repeats: String = "", memo: String = ""
  ) -> Payload {
    .reminderSet(
      .with {
        ($0.user, $0.reminder, $0.title, $0.memo) = (user, reminder, title, memo)
        ($0.at, $0.zone, $0.instant, $0.repeat) = (local, zone, instant, repeats)
      })
  }

  static func cancellation(_ reminder: String, of user: String = "ann") -> Payload {
    .reminderCancelled(.with { ($0.user, $0.reminder) = (user, reminder) })
  }

  static func cycle(
    _ cycle: String, of user: String = "ann", items: [String], from: String, to: String,
    zone: String = "", times: Int32, period: String = ""
  ) -> Payload {
    .reminderCycleSet(
      .with {
        ($0.user, $0.cycle, $0.from, $0.to, $0.zone) = (user, cycle, from, to, zone)
        ($0.times, $0.period) = (times, period)
        $0.items = items.map { item in .with { ($0.item, $0.title) = (item, "the \(item)") } }
      })
  }

  static func zone(_ zone: String, of user: String = "ann") -> Payload {
    .profileEdited(ProfileEdited(user: user, zone: zone))
  }
}
