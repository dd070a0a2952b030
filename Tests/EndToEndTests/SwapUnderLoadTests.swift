import EmbeddedStack
import Events
import Foundation
import Kafka
import Model
import Postgres
import Synchronization
import TestSupport
import Testing
import Verification
import Workload

/// Swapping tables under writes and reads.
///
/// `MAGPIE_TEST_EVENTS_PER_SECOND` sets the write rate. The default is 50, because other tests run
/// concurrently. docs/decisions/0013 has the results of the release build.
@Suite(.serialized, .onTrueEnds) struct SwapUnderLoadTests {
  @Test(
    "during rebuild, swap and swap back under writes, no reader sees empty, partial or older results"
  )
  func exchange() async throws {
    var generator = SeededGenerator()
    let stack = try Stack(partitions: 8)
    defer { stack.stop() }
    for worker in Stack.workers { try stack.start(worker, lanes: 2) }
    let load = try Load(
      prefix: stack.prefix, seed: generator.seed, databaseURL: stack.databaseURL)
    try load.begin()
    try await stack.waitUntilApplied()
    let wanted = ProcessInfo.processInfo.environment["MAGPIE_TEST_EVENTS_PER_SECOND"]
    load.start(eventsPerSecond: wanted.flatMap { Int($0) } ?? 50)
    let readers = SwapReaders(url: stack.databaseURL, beginning: load.beginning)
    readers.start()

    try stack.succeed("replay", "--rebuild", "all")
    // A swap killed at any moment has happened entirely or not at all, and readers see no difference.
    for attempt in 1...3 {
      let seconds = Double.random(in: 0.1...Double(attempt), using: &generator)
      _ = try await stack.exchange(killedAfter: seconds)
    }
    if try stack.hasSchema("magpie_old") {
      try stack.succeed("replay", "--swap-back", "--wait-readers", "20")
      try stack.succeed("replay", "--drop-old")
      try stack.succeed("replay", "--rebuild", "all")
    }
    for step in ["--swap", "--swap-back", "--swap-back"] {
      let swap = { try stack.magpie("replay", step, "--json", "--wait-readers", "20") }
      var done = try swap()
      // On a busy machine it refuses rather than blocks the workers for long, and asks to be run again.
      for _ in 0..<10 where done.exit == .exited(1) { done = try swap() }
      try #require(done.exit == .exited(0), "\(step): \(done.output)\n\(stack.logTails)")
      print("\(step): \(done.output)")
      let before = readers.looksOfSlowest
      try await eventually("all readers have completed a few rounds") {
        readers.looksOfSlowest > before + 5 || !readers.isUncomplaining
      }
    }
    let rate = try load.stop()
    print("events/s: \(Int(rate))")
    #expect(rate > 0)
    let seen = readers.stop()
    print("looks: \(seen.looks) by the slowest kind of reader, slowest \(seen.slowest)")
    #expect(seen.findings.isEmpty, "\(seen.findings.joined(separator: "\n"))")
    #expect(seen.looks > 5)

    let verified = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(verified.exit == .exited(0), "\(verified.output)\n\(stack.logTails)")
    let differences = try ModelComparison(
      model: Model(load.sent), connection: try stack.connection()
    ).differences()
    #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
    try await stack.waitUntilApplied()
    let live = try stack.rows()
    try stack.succeed("replay", "--drop-old")
    try stack.succeed("replay", "--rebuild", "all")
    try stack.expectRows(live, in: "magpie_shadow")
  }
}

/// Publishes events at a rate, some of them for the person that `SwapReaders` read. Thread-safe.
private final class Load: Sendable {
  /// An hour ago, in milliseconds since 1970.
  let beginning = Int64(Date.now.timeIntervalSince1970 * 1000) - 3_600_000
  private let prefix: String
  private let events: Mutex<[Event]>
  private let crowd: Mutex<SocialEvents>
  private let isStopping = Mutex(false)
  private let result = Mutex<Result<Double, any Error>?>(nil)
  private let configuration: ClientConfiguration
  private let databaseURL: String

  init(prefix: String, seed: UInt64, databaseURL: String) throws {
    self.prefix = prefix
    self.databaseURL = databaseURL
    configuration = try TestBroker.shared.configuration
    events = Mutex([])
    crowd = Mutex(SocialWorkload(users: 200, events: 1_000_000, seed: seed).makeIterator())
  }

  var sent: [Event] { events.withLock { $0 } }

  /// Publishes the events that exist before the readers start.
  func begin() throws {
    let producer = try Producer(configuration: configuration)
    defer { producer.close() }
    let people = ["star", "watcher"].map { user in
      event("profile-\(user)", at: 0, .profile(user, nickname: user))
    }
    let follow = event("follow", at: 0, .follow("watcher", "star"))
    try send(people + [follow] + (1...250).flatMap(next), by: producer)
  }

  /// The star's n-th post, comment and message.
  private func next(_ number: Int) -> [Event] {
    [
      event(
        "star-\(number)", at: number,
        // Not "post-…", which the crowd publishes too.
        .post("star-\(number)", by: "star", title: "\(number)")),
      event(
        "note-\(number)", at: number,
        .comment("note-\(number)", by: "star", on: "watched", of: "watcher", "\(number)")),
      event(
        "talk-\(number)", at: number,
        .message("talk-\(number)", from: "star", to: "watcher", "\(number)")),
    ]
  }

  private func event(_ id: String, at milliseconds: Int, _ payload: Payload) -> Event {
    Event(
      id: id, source: "test",
      time: EventTime(microseconds: (beginning + Int64(milliseconds)) * 1000), payload: payload)
  }

  func start(eventsPerSecond: Int) {
    Thread.detachNewThread { [self] in
      let outcome = Result { try run(eventsPerSecond) }
      result.withLock { $0 = outcome }
    }
  }

  /// Stops; returns the acknowledged events per second.
  func stop() throws -> Double {
    isStopping.withLock { $0 = true }
    while true {
      if let result = result.withLock({ $0 }) { return try result.get() }
      Thread.sleep(forTimeInterval: 0.02)
    }
  }

  private func run(_ eventsPerSecond: Int) throws -> Double {
    let producer = try Producer(configuration: configuration)
    defer { producer.close() }
    let connection = try Connection(databaseURL, applicationName: "load")
    defer { connection.close() }
    let (started, parts) = (ContinuousClock.now, 10)
    var (tick, count) = (0, 0)
    while !isStopping.withLock({ $0 }) {
      tick += 1
      var batch = next(250 + tick)
      crowd.withLock { crowd in
        while batch.count < eventsPerSecond / parts, let event = crowd.next() {
          batch.append(event)
        }
      }
      try send(batch, by: producer)
      count += batch.count
      let due = started + .seconds(Double(tick) / Double(parts))
      if due > .now { Thread.sleep(forTimeInterval: (due - .now) / .seconds(1)) }
      // Throttles if the workers cannot keep up on this machine.
      while tick % 10 == 0, try behind(connection, tick) > 100, !isStopping.withLock({ $0 }) {
        Thread.sleep(forTimeInterval: 0.1)
      }
    }
    return Double(count) / ((ContinuousClock.now - started) / .seconds(1))
  }

  /// The number of the star's posts or comments that are not applied yet, whichever is greater.
  private func behind(_ connection: Connection, _ tick: Int) throws -> Int {
    let applied = try connection.query(
      """
      SELECT least(
        (SELECT s.posts FROM profile_stats('star') s),
        (SELECT count(*) FROM comments WHERE post_id = 'watched' AND active))
      """)
    return try 250 + tick - applied.only.int(0)
  }

  private func send(_ batch: [Event], by producer: Producer) throws {
    try producer.send(
      try batch.map { event in
        return try OutgoingRecord(
          topic: event.topic.name(prefix: prefix), wire: EventCodec.encode(event, as: .protobuf))
      })
    events.withLock { $0 += batch }
  }
}
