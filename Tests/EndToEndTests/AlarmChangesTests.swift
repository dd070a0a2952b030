import EmbeddedStack
import Events
import Foundation
import Kafka
import Postgres
import RecordLog
import TestSupport
import Testing

/// What a consumer of alarm-changes sees of real workers.
@Suite(.serialized) struct AlarmChangesTests {
  /// The events of the topic by version, which is also their order in each partition.
  private func published(_ stack: Stack) throws -> [Event] {
    let log = try KafkaLog(configuration: TestBroker.shared.configuration)
    let topic = Topic.alarmChanges.name(prefix: stack.prefix)
    var events: [Event] = []
    try log.read(log.spans(of: [topic]), maxRecords: 1000) { batch in
      for record in batch.records {
        events.append(try EventCodec.decode(record.wire, topic: .alarmChanges, now: .now))
      }
    }
    let versions = events.map(version)
    for key in Set(events.map(\.key)) {
      let mine = zip(events, versions).filter { $0.0.key == key }.map(\.1)
      #expect(mine == mine.sorted(), "\(key)")
    }
    return zip(versions, events).sorted { $0.0 < $1.0 }.map(\.1)
  }

  private func version(_ event: Event) -> Int64 {
    switch event.payload {
    case .alarmChanged(let data): data.version
    case .alarmRetracted(let data): data.version
    default: 0
    }
  }

  private func verify(_ stack: Stack) throws {
    let verified = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(verified.exit == .exited(0), "\(verified.output)\n\(stack.logTails)")
    try stack.succeed("verify", "--deep")
  }

  @Test(
    "a like, a rename, an unlike, a rebuild and a swap reach a consumer of alarm-changes in versions that grow"
  )
  func consumer() async throws {
    let stack = try Stack(partitions: 2)
    defer { stack.stop() }
    for worker in Stack.workers { try stack.start(worker) }
    let like = ["--actor", "minji", "--post", "p1", "--owner", "somchai"]
    try stack.succeed("publish", "like", like[0], like[1], like[2], like[3], like[4], like[5])
    try verify(stack)
    let first = try published(stack)
    guard case .alarmChanged(let data)? = first.first?.payload, first.count == 1 else {
      Issue.record("\(first)")
      return
    }
    #expect(data.text == "Someone likes your post" && data.kind == "F00")
    #expect(data.recipient == "somchai" && data.actor == "minji" && data.post == "p1")

    try stack.succeed("publish", "profile", "--user", "minji", "--nickname", "민지")
    try verify(stack)
    try stack.succeed("publish", "unlike", like[0], like[1], like[2], like[3], like[4], like[5])
    try stack.succeed("publish", "follow", "--follower", "minji", "--followee", "somchai")
    try verify(stack)
    let second = try published(stack).dropFirst()
    #expect(second.map(\.type) == [.alarmChanged, .alarmRetracted, .alarmChanged])

    // A bug invented an alarm, and lost another one's text.
    try stack.connection().script(
      """
      INSERT INTO alarms (notification_id, recipient, generation, counter, retracted, version)
      SELECT '00000000-0000-5000-8000-000000000009', 'nobody', 1, 1, true, nextval('alarm_versions');
      UPDATE alarms SET (retracted, type, actor, actor_count, contribution_count, head_text,
          raised_at, locale, text, layout) = (
        SELECT false, type, actor, actor_count, contribution_count, head_text, raised_at, locale, text,
          layout
        FROM alarms WHERE NOT retracted LIMIT 1)
      WHERE recipient = 'nobody';
      """)
    try stack.succeed("replay", "--rebuild", "notifications")
    #expect(
      try published(stack).count == 4, "rebuilding publishes nothing")
    try stack.succeed("replay", "--swap")
    try verify(stack)
    let third = try published(stack).dropFirst(4)
    // The follow's alarm, the unliked one's retraction, and the invented one's.
    #expect(third.count(where: { $0.type == .alarmChanged }) == 1)
    #expect(
      third.contains {
        if case .alarmRetracted(let data) = $0.payload { data.recipient == "nobody" } else { false }
      }, "\(third.map(\.payload))")
    #expect(third.count == 3)
    // The former tables have the invented alarm, and are published again above everything else.
    try stack.succeed("replay", "--swap-back")
    try await eventually("the former tables are published again") {
      let row = try stack.connection().query(
        "SELECT count(*) FROM pending_publications"
      ).only
      return try row.int(0) == 0
    }
    let fourth = try published(stack).dropFirst(7)
    #expect(
      fourth.contains {
        if case .alarmChanged(let data) = $0.payload { data.recipient == "nobody" } else { false }
      }, "\(fourth.map(\.payload))")
    #expect(
      try stack.connection().query("SELECT count(*) FROM alarms WHERE version = 0").only.int(0) == 0
    )
  }
}
