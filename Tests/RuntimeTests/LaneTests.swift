import Events
import Kafka
import Logging
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Handling
@testable import Lanes

@Suite struct LaneTests {
  @Test("partitions whose last applied records were deleted are read from their stored offsets")
  func uncomparable() throws {
    let lane = try idleLane()
    let (first, second) = (
      TopicPartition(topic: "t", partition: 0), TopicPartition(topic: "t", partition: 1)
    )
    let stored: [TopicPartition: Int64] = [first: 5, second: 8]
    func beginning() -> [TopicPartition: Int64] {
      lane.recognition = Recognition()
      lane.recognition.expect([
        first: LastRecord(offset: 4, identity: "i"), second: LastRecord(offset: 7, identity: "j"),
      ])
      return lane.beginning(stored)
    }
    #expect(beginning() == [first: 4, second: 7], "to compare them")
    lane.uncomparable[first] = 4
    #expect(beginning() == [first: 5, second: 7])
    #expect(lane.recognition.start(of: first) == nil)
    lane.uncomparable[second] = 7
    for _ in 0..<2 { #expect(beginning() == stored, "in each membership") }
    lane.uncomparable[first] = 3
    #expect(beginning() == [first: 4, second: 8], "another record was applied last since")
  }

  @Test(
    "a log that ends before the last applied record is compared, however long it is when it is read"
  )
  func shortLog() throws {
    let lane = try idleLane()
    let (short, cut) = (
      TopicPartition(topic: "t", partition: 0), TopicPartition(topic: "t", partition: 1)
    )
    lane.recognition.expect([
      short: LastRecord(offset: 4, identity: "i"), cut: LastRecord(offset: 7, identity: "i"),
    ])
    let logs = [short: Watermarks(low: 0, high: 3), cut: Watermarks(low: 8, high: 9)]
    #expect(lane.beginning([short: 5, cut: 8], in: logs) == [short: 4, cut: 8])
    #expect(lane.recognition.start(of: short) == 4)
    #expect(lane.recognition.start(of: cut) == nil)
  }

  /// A lane that does not run.
  private func idleLane() throws -> Lane {
    let settings = LaneSettings(
      handler: LaneFixture.handler, kafka: ClientConfiguration(bootstrap: "localhost:1"),
      topicPrefix: "test.", databaseURL: "postgresql://localhost:1/none")
    return Lane(
      settings: settings, status: LaneStatus(), metrics: Metrics(), logger: Logger(label: "lane"))
  }

  @Test("every record is applied once, and a successor continues where the lane stopped")
  func resumes() async throws {
    let fixture = try LaneFixture()
    let first = try fixture.publish(posts: (0..<300).map { "p\($0)" })
    let lane = RunningLane(try fixture.settings())
    try await eventually { try fixture.lag() == 0 }
    try await lane.stop()

    let second = try fixture.publish(posts: (0..<200).map { "p\($0)" }, from: 300)
    let successor = RunningLane(try fixture.settings())
    try await eventually { try fixture.lag() == 0 }
    try await successor.stop()
    #expect(try fixture.applied() == first + second)
    #expect(successor.metrics.total(.records) == 200)
  }

  @Test("a lane that is to stop leaves after the transaction in hand")
  func stopsBetweenBatches() async throws {
    let fixture = try LaneFixture(partitions: 1)
    let ids = try fixture.publish(posts: (0..<50).map { "p\($0)" })
    let started = Mutex<LaneStatus?>(nil)
    var handler = LaneFixture.handler
    handler.recordsMax[.likes] = 10
    handler.apply = { topic, events in
      // The first transaction asks the lane to stop.
      started.withLock { $0?.stop() }
      return try LaneFixture.handler.apply(topic, events)
    }
    let (settings, status) = (try fixture.settings(handler: handler), LaneStatus())
    started.withLock { $0 = status }
    try await RunningLane(settings, status: status).end()
    #expect(try fixture.applied() == Array(ids[..<10]))
    let successor = RunningLane(try fixture.settings())
    try await eventually { try fixture.lag() == 0 }
    try await successor.stop()
    #expect(try fixture.applied() == ids)
  }

  @Test("a lane that is to stop begins no other background work after the piece in hand")
  func stopsBetweenPieces() async throws {
    let fixture = try LaneFixture(partitions: 1)
    let status = LaneStatus()
    let due = Mutex(0)
    var handler = LaneFixture.handler
    handler.backlog = {
      // The second piece asks the lane to stop.
      if due.withLock({ $0 > 0 }) { status.stop() }
      return Work()
    }
    handler.due = { _ in
      due.withLock { $0 += 1 }
      return Work()
    }
    try await RunningLane(fixture.settings(handler: handler), status: status).end()
    #expect(due.withLock { $0 } == 1)
  }

  @Test("a record that violates a constraint is dead-lettered; those around it are applied")
  func bisects() async throws {
    let fixture = try LaneFixture()
    var posts = (0..<400).map { "p\($0)" }
    let poisoned = [0, 1, 57, 200, 399]
    for index in poisoned { posts[index] = "poison" }
    try fixture.publish(posts: posts)
    let lane = RunningLane(try fixture.settings())
    try await eventually { try fixture.lag() == 0 }
    try await lane.stop()
    #expect(
      try fixture.applied() == (0..<400).filter { !poisoned.contains($0) }.map(String.init))
    let letters = try fixture.connection().query(
      "SELECT reason_code, reason, attempts, value IS NOT NULL FROM dead_letters")
    #expect(letters.count == poisoned.count)
    for letter in letters {
      #expect(try letter.text(0) == "not-applicable")
      #expect(try letter.text(1).contains("applied_post_check"))
      #expect(try letter.int(2) == 2)
      #expect(try letter.bool(3))
    }
  }

  @Test("events that exceed their person's quota become dead letters, and stop no lane")
  func quotas() async throws {
    let fixture = try LaneFixture()
    var handler = LaneFixture.handler
    let apply = handler.apply
    handler.apply = { topic, events in
      let isOver = events.contains { event in
        if case .likeCreated(let like) = event.payload { like.post == "over" } else { false }
      }
      if isOver { throw EventError(.quota, "It is one too many.") }
      return try apply(topic, events)
    }
    var settings = try fixture.settings(handler: handler)
    settings.circuitBreaker = CircuitBreaker(runLimit: 5)
    try fixture.publish(posts: Array(repeating: "over", count: 20) + ["a"])
    let lane = RunningLane(settings)
    try await eventually { try fixture.lag() == 0 }
    try await lane.stop()
    #expect(try fixture.applied() == ["20"])
    let codes = try fixture.connection().query("SELECT reason_code FROM dead_letters")
    #expect(try codes.map { try $0.text(0) } == Array(repeating: "quota", count: 20))
  }

  @Test("a lane whose partition was claimed by another cannot commit, rejoins and continues")
  func fences() async throws {
    let fixture = try LaneFixture()
    try fixture.publish(posts: ["a"])
    let lane = RunningLane(try fixture.settings())
    try await eventually { try fixture.lag() == 0 }
    // Acts like a successor's claim.
    try fixture.connection().query("UPDATE consumer_offsets SET owner_epoch = owner_epoch + 1")
    try fixture.publish(posts: ["b", "c", "d", "e"], from: 1)
    try await eventually { try fixture.lag() == 0 }
    #expect(lane.metrics.total(.fenced) >= 1)
    try await lane.stop()
    #expect(try fixture.applied() == ["0", "1", "2", "3", "4"])
  }

  @Test("statements are prepared, unless the settings say that a pooler would lose them")
  func preparing() async throws {
    for isOn in [true, false] {
      let fixture = try LaneFixture()
      try fixture.publish(posts: ["a"])
      let handler = Handler(name: "fanout", topics: [.likes]) { _, events in
        Work([
          Statement(
            """
            INSERT INTO applied SELECT $1, (SELECT count(*) > 0 FROM pg_prepared_statements)::text
            """, [.text(events[0].id)])
        ])
      }
      var settings = try fixture.settings(handler: handler)
      settings.preparesStatements = isOn
      let lane = RunningLane(settings)
      try await eventually { try fixture.lag() == 0 }
      try await lane.stop()
      let found = try fixture.connection().query("SELECT post FROM applied").only.text(0)
      #expect(found == "\(isOn)")
    }
  }

  @Test("too many dead letters stop the lane before they are written")
  func breaks() async throws {
    let fixture = try LaneFixture(partitions: 1)
    try fixture.produce(
      (0..<50).map {
        OutgoingRecord(
          topic: Topic.likes.name(prefix: fixture.prefix), key: Array("k".utf8),
          value: Array("\($0)".utf8))
      })
    var settings = try fixture.settings()
    settings.circuitBreaker = CircuitBreaker(runLimit: 20)
    let lane = RunningLane(settings)
    let stopped = await #expect(throws: WorkerStopped.self) { try await lane.end() }
    #expect(stopped?.reason.contains("records in a row could not be applied") == true)
    #expect(stopped?.nextStep.contains("--dead-letter-run-limit") == true)
    #expect(try fixture.deadLetterCount() < 20)
  }

  @Test("a lane without new records notices that its offset was moved, and continues from there")
  func idleLaneNotices() async throws {
    let fixture = try LaneFixture(partitions: 1)
    try fixture.publish(posts: ["a", "b"])
    let lane = RunningLane(try fixture.settings())
    try await eventually { try fixture.applied() == ["0", "1"] }
    try fixture.connection().query(
      "UPDATE consumer_offsets SET next_offset = 1, owner_epoch = owner_epoch + 1")
    try await eventually { try fixture.applied() == ["0", "1", "1"] }
    try await lane.stop()
  }

  @Test("a stored offset that the log does not hold stops the lane with the command to run")
  func outOfRange() async throws {
    let fixture = try LaneFixture(partitions: 1)
    try fixture.publish(posts: ["a", "b"])
    try fixture.connection().query(
      "SELECT fence_claim($1, $2, $3, $4)",
      [
        .text(fixture.settings().consumerGroup),
        .textArray([Topic.likes.name(prefix: fixture.prefix)]),
        .int4Array([0]), .int8Array([1000]),
      ])
    let lane = RunningLane(try fixture.settings())
    let stopped = await #expect(throws: WorkerStopped.self) { try await lane.end() }
    #expect(stopped?.reason.contains("offset 1000 is not in the log") == true)
    let command = "magpie offsets reset --group \(try fixture.settings().consumerGroup) --topic "
    #expect(stopped?.nextStep.contains(command) == true)
    #expect(stopped?.nextStep.hasSuffix("--partition 0 --to-start") == true)
    #expect(try fixture.applied() == [])
  }

  @Test(
    "a piece of the backlog that violates a constraint, or takes too long, delays no records, nothing due and no other work",
    arguments: ["INSERT INTO applied VALUES ('0', 'poison')", "SELECT pg_sleep(3600)"])
  func unworkableBacklog(sql: String) async throws {
    let fixture = try LaneFixture()
    let owner = try fixture.connection()
    let database = try owner.query("SELECT current_database()").only.text(0)
    try owner.script("ALTER DATABASE \(database) SET statement_timeout = '1s'")
    let pieces = Mutex(0)
    let due = Mutex(0)
    let others = Mutex(0)
    var handler = LaneFixture.handler
    handler.backlog = {
      pieces.withLock { $0 += 1 }
      return Work([Statement(sql)])
    }
    handler.backlogBesideSweep = {
      others.withLock { $0 += 1 }
      return Work()
    }
    handler.due = { _ in
      due.withLock { $0 += 1 }
      return Work()
    }
    let metrics = Metrics()
    let lane = RunningLane(try fixture.settings(handler: handler), metrics: metrics)
    try await eventually("the piece is tried") { pieces.withLock { $0 > 0 } }
    let ids = try fixture.publish(posts: (0..<20).map { "p\($0)" })
    try await eventually { try fixture.applied() == ids }
    try await eventually("what is due is looked for again and again") { due.withLock { $0 > 3 } }
    try await eventually("so is other background work") { others.withLock { $0 > 3 } }
    try await lane.stop()
    #expect(pieces.withLock { $0 } < due.withLock { $0 }, "the next attempt is half a minute later")
    let reason = sql.hasPrefix("INSERT") ? "not-applicable" : "statement-timeout"
    let counts = metrics.prometheusText().matches(
      of: /magpie_retries_total{reason="([a-z-]+)"} [1-9]/)
    #expect(counts.contains { $0.1 == reason })
  }

  @Test("a piece of what is due that takes too long is halved until it does not, without a pause")
  func dueHalved() async throws {
    let fixture = try LaneFixture()
    let owner = try fixture.connection()
    let database = try owner.query("SELECT current_database()").only.text(0)
    try owner.script("ALTER DATABASE \(database) SET statement_timeout = '1s'")
    let tried = Mutex<[Int]>([])
    let waiting = Mutex(8)
    let idle = Mutex(0)
    var handler = LaneFixture.handler
    handler.due = { turn in
      let rows = min(waiting.withLock { $0 }, 8 >> turn.halvings)
      guard rows > 0 else {
        idle.withLock { $0 += 1 }
        return Work()
      }
      tried.withLock { $0.append(rows) }
      guard rows <= 2 else { return Work([Statement("SELECT pg_sleep(3600)")]) }
      waiting.withLock { $0 -= rows }
      return Work { _ in Outcome(hasMore: true) }
    }
    let lane = RunningLane(try fixture.settings(handler: handler))
    try await eventually("all is done") { idle.withLock { $0 > 0 } }
    #expect(tried.withLock { Array($0.prefix(3)) } == [8, 4, 2])
    waiting.withLock { $0 = 8 }
    try await eventually("what is due next is tried as a whole") {
      tried.withLock { $0.dropFirst().contains(8) }
    }
    try await lane.stop()
  }

  @Test("an unexpected error of a handler stops the lane and loses nothing")
  func unforeseen() async throws {
    struct Unforeseen: Error {}
    let fixture = try LaneFixture(partitions: 1)
    try fixture.publish(posts: ["a"])
    let broken = Handler(name: "fanout", topics: [.likes]) { _, _ in throw Unforeseen() }
    let lane = RunningLane(try fixture.settings(handler: broken))
    await #expect(throws: WorkerStopped.self) { try await lane.end() }
    #expect(try fixture.lag() == 1)
    #expect(try fixture.deadLetterCount() == 0)
  }
}
