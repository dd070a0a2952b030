import AlarmText
import Alarms
import Devices
import Events
import Foundation
import Handling
import Notifications
import Postgres
import Providers
import Schedules
import Synchronization
import TestSupport
import Testing

@testable import Pushes

/// The handlers from a like to a claim on a database of its own, with a clock that the test sets and with the test
/// as the sender. For use by one task.
final class PushWorld {
  private final class Clock: Sendable {
    let time = Mutex(EventTime(microseconds: 0))
  }

  let admin: Connection
  let outbox: Outbox
  private let notifier: Connection
  private let renderer: Connection
  private let pusher: Connection
  private let handler: Handler
  private let clock = Clock()
  private var sent: AsyncStream<Claim>.Iterator
  private var events = 0
  /// Whether notification-worker and push-worker consume an event only when ``catchUp(using:)`` says so.
  var isLate = false
  private var unapplied: [Topic: [Event]] = [:]
  private var unheard: [Topic: [Event]] = [:]

  init(
    at time: String = "2026-11-23T12:00:00Z", capacity: Int = 100, rate: Int64 = 1_000_000,
    bounds: PushBounds = PushBounds()
  ) throws {
    let url = try TestDatabase.fresh()
    func connection(_ role: String) throws -> Connection {
      let connection = try Connection(url, applicationName: "test")
      if !role.isEmpty { try connection.script("SET ROLE \(role); SET lock_timeout = '60s'") }
      return connection
    }
    (admin, notifier) = (try connection(""), try connection("magpie_notification"))
    (renderer, pusher) = (try connection("magpie_alarm"), try connection("magpie_push"))
    let (outbox, clock) = (Outbox(capacity: capacity, rate: rate), clock)
    self.outbox = outbox
    sent = outbox.claims.makeAsyncIterator()
    let engine = try AlarmTextEngine()
    handler = pushHandler(
      engine: engine, keys: try TokenKeys(text: sampleKeys), zones: ZoneDirectory(), outbox: outbox,
      bounds: bounds,
      clock: { clock.time.withLock { $0 } })
    try set(time)
  }

  var now: EventTime { clock.time.withLock { $0 } }

  func set(_ time: String) throws {
    let time = try EventTime(rfc3339: time)
    clock.time.withLock { $0 = time }
  }

  func pass(seconds: Int64) {
    clock.time.withLock { $0 = EventTime(microseconds: $0.microseconds + seconds * 1_000_000) }
  }

  /// An event of now, as a lane decodes it.
  func event(_ payload: Payload) -> Event {
    events += 1
    var event = Event(id: "event-\(events)", source: "test", time: now, payload: payload)
    (event.partition, event.offset) = (0, Int64(events))
    return event
  }

  /// Applies an event to the handlers that consume it; their events, too.
  func apply(_ payload: Payload) throws { try apply([event(payload)]) }

  /// - Parameter isHeard: whether push-worker consumes the events, too.
  func apply(_ applied: [Event], isHeard: Bool = true) throws {
    for event in applied {
      if notificationHandler().topics.contains(event.topic) {
        if isLate { unapplied[event.topic, default: []].append(event) } else { try notify(event) }
      }
      if event.topic == .profiles {
        try render { try $0.applyDirectly([event], topic: .profiles, on: $1) }
        try render { try $0.runBacklogDirectly(on: $1) }
      }
      if isHeard, handler.topics.contains(event.topic) {
        if isLate { unheard[event.topic, default: []].append(event) } else { try hear(event) }
      }
    }
  }

  private func notify(_ event: Event) throws {
    let outcome = try notificationHandler().applyDirectly(
      [event], topic: event.topic, on: notifier)
    try note(event)
    try render { try $0.applyDirectly(outcome.events, topic: .notificationChanges, on: $1) }
  }

  /// Lets the workers consume some events that wait for them, those of each topic in order.
  func catchUp(using generator: inout some RandomNumberGenerator) throws {
    for topic in Topic.allCases {
      for event in late(&unapplied[topic, default: []], &generator) { try notify(event) }
      for event in late(&unheard[topic, default: []], &generator) { try hear(event) }
    }
  }

  /// None, some or all, and what waits longest first.
  private func late(
    _ waiting: inout [Event], _ generator: inout some RandomNumberGenerator
  ) -> [Event] {
    let count = [0, Int.random(in: 0...waiting.count, using: &generator), waiting.count]
      .randomElement(using: &generator)
    let events = Array(waiting.prefix(count ?? 0))
    waiting.removeFirst(events.count)
    return events
  }

  /// Whether the workers have consumed every event.
  var isCaughtUp: Bool {
    unapplied.values.allSatisfy(\.isEmpty) && unheard.values.allSatisfy(\.isEmpty)
  }

  /// Applies an event before notification-worker does.
  func hear(_ event: Event) throws {
    try handler.applyDirectly([event], topic: event.topic, on: pusher)
  }

  /// Runs alarm-worker's handler, and applies what it publishes.
  private func render(_ run: (Handler, Connection) throws -> Outcome) throws {
    let outcome = try run(try alarmHandler(defaultLocale: "en"), renderer)
    try apply(
      outcome.events.map {
        var change = $0
        (change.partition, change.offset) = (0, 0)
        return change
      })
  }

  /// What notification-worker has applied.
  private func note(_ event: Event) throws {
    _ = try admin.query(
      """
      INSERT INTO consumer_offsets (consumer_group, topic, partition, next_offset, owner_epoch)
      VALUES ('magpie.notification', $1, 0, $2, 1)
      ON CONFLICT (consumer_group, topic, partition) DO UPDATE SET next_offset = $2
      """, [.text("magpie." + event.topic.rawValue), .int8((event.offset ?? 0) + 1)])
  }

  func like(_ actor: String, _ post: String, of owner: String = "ann") throws {
    try apply(.like(actor, post, of: owner))
  }

  func register(
    _ installation: String = "phone", of user: String = "ann", token: String = "0123456789abcdef",
    provider: PushProvider = .apns
  ) throws {
    try apply([registration(installation, of: user, token: token, provider: provider)])
  }

  /// The event that ``register(_:of:token:provider:)`` applies.
  func registration(
    _ installation: String = "phone", of user: String = "ann", token: String = "0123456789abcdef",
    provider: PushProvider = .apns
  ) -> Event {
    event(
      .deviceRegistered(
        .with {
          ($0.user, $0.installation, $0.token) = (user, installation, token)
          ($0.provider, $0.app) = (provider.rawValue, "com.example.app")
        }))
  }

  /// Runs what is due, for a sender that runs.
  func run() throws {
    while try handler.runDueDirectly(partitions: [0], on: pusher).hasMore {}
  }

  /// Runs what is due; returns the claims that the sender gets.
  func turn() async throws -> [Claim] {
    try await claims { while try handler.runDueDirectly(partitions: [0], on: pusher).hasMore {} }
  }

  /// The same, of one piece.
  func piece() async throws -> [Claim] {
    try await claims { _ = try handler.runDueDirectly(partitions: [0], on: pusher) }
  }

  private func claims(_ run: () throws -> Void) async throws -> [Claim] {
    let before = outbox.underWay
    try run()
    var claims: [Claim] = []
    for _ in 0..<(outbox.underWay - before) {
      claims.append(try #require(await sent.next()))
    }
    return claims
  }

  /// Runs what is due, with the provider's answer to each claim, until nothing is.
  func push(_ answer: ProviderAnswer = .accepted) async throws -> [Claim] {
    var all: [Claim] = []
    while true {
      let isAnswered = outbox.hasAnswers
      let claims = try await turn()
      all += claims
      for claim in claims { outbox.note(Answered(claim, .answer(answer), at: now)) }
      if claims.isEmpty, !isAnswered { return all }
    }
  }

  /// Lets push-worker hear that a person was erased now.
  func erase(_ user: String) throws {
    try hear(event(.userErased(.with { $0.user = user })))
  }

  /// Runs push-worker's sweeps as if all other workers were done with theirs.
  ///
  /// - Returns: whether nobody is left to forget. Otherwise something under way is waited for.
  func forget() async throws -> Bool {
    for worker in ["fanout", "notification", "alarm", "reminder"] {
      _ = try admin.query(
        "SELECT erasure_done($1, q.user_id, q.erased_at) FROM push_erasures q", [.text(worker)])
    }
    while true {
      // Transactions of other tests may delay a stage.
      let due = try stages("WHERE horizon <= pg_snapshot_xmin(pg_current_snapshot())")
      while try handler.runBacklogDirectly(on: pusher).hasMore {}
      let left = try stages("")
      if left.isEmpty { return true }
      if !due.isDisjoint(with: left) { return false }
      try await Task.sleep(for: .milliseconds(5))
    }

    func stages(_ condition: String) throws -> Set<String> {
      Set(
        try admin.query("SELECT user_id || ' ' || stage FROM push_erasures \(condition)")
          .map { try $0.text(0) })
    }
  }

  /// The state of each claim, such as `phone alert accepted`.
  func claims() throws -> [String] {
    try admin.query(
      """
      SELECT concat_ws(' ', installation, purpose, state) FROM push_claims
      ORDER BY claimed_at, installation
      """
    ).map { try $0.text(0) }
  }

  func dueCount() throws -> Int { try admin.query("SELECT count(*) FROM push_due").only.int(0) }
}

/// Keys that protect nothing.
let sampleKeys = """
  fingerprint AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
  seal test AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=
  """
