import EmbeddedStack
import Events
import Foundation
import Kafka
import TestSupport
import Testing

/// Reminders through the worker processes, by the real clock.
@Suite(.serialized) struct ReminderTests {
  @Test("a reminder rings once on the alarm page, in Korean, while workers are killed around it")
  func ringsOnce() async throws {
    let stack = try Stack(partitions: 2)
    defer { stack.stop() }
    for worker in Stack.workers { try stack.start(worker) }
    var victim = try stack.start("reminder-worker")
    try publish(
      stack,
      .profileChanged(
        .with {
          ($0.user, $0.nickname, $0.locale, $0.zone) = ("minji", "민지", "ko-KR", "Asia/Seoul")
        }),
      // In Seoul, nine hours ahead of UTC.
      .reminderSet(
        .with {
          ($0.user, $0.reminder, $0.title, $0.memo) = ("minji", "pills", "약 먹기", "물과 함께 💊")
          $0.at = local(secondsFromNow: 20, zoneHours: 9)
        }))
    let connection = try stack.connection()
    func stored(_ sql: String) throws -> Int { try connection.query(sql).only.int(0) }
    try await eventually("the reminder is set, in the person's zone") {
      try stored("SELECT count(*) FROM reminder_page('minji', NULL, 10) WHERE zone = 'Asia/Seoul'")
        == 1
    }
    // Around the time that it is due, one of the two is killed again and again.
    func hasRung() throws -> Bool {
      try stored("SELECT count(*) FROM alarm_page('minji', NULL, 10)") > 0
    }
    func claims() -> Int {
      stack.log(of: "reminder-worker").components(separatedBy: ": assigned").count
    }
    while try !hasRung() {
      let before = claims()
      victim.terminate(SIGKILL)
      victim = try stack.start("reminder-worker")
      try await eventually("the killed worker's partitions are claimed, or the reminder has rung") {
        try hasRung() || claims() > before
      }
    }
    let verified = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(verified.exit == .exited(0), "\(verified.output)\n\(stack.logTails)")
    let alarms = try connection.query(
      "SELECT text, raised_at, kind, deep_link FROM alarm_page('minji', NULL, 10)")
    #expect(alarms.count == 1)
    let text = try alarms.only.text("text")
    #expect(text.contains("약 먹기") && text.contains("물과 함께 💊"), "\(text)")
    #expect(try alarms.only.text("kind") == "F39")
    #expect(try stored("SELECT badge('minji')") == 1)
    try publish(stack, .alarmSeen(.with { $0.user = "minji" }))
    try await eventually("opening the list resets the badge") {
      try stored("SELECT badge('minji')") == 0
    }
  }

  @Test("a cycle's item comes within its window")
  func cycle() async throws {
    let stack = try Stack(partitions: 1)
    defer { stack.stop() }
    for worker in Stack.workers { try stack.start(worker) }
    // A moment a minute from now on.
    let now = local(secondsFromNow: 0, zoneHours: 0)
    let end = local(secondsFromNow: 100 * 60, zoneHours: 0)
    try publish(
      stack,
      .reminderCycleSet(
        .with {
          ($0.user, $0.cycle, $0.zone, $0.times) = ("ann", "notes", "UTC", 100)
          ($0.from, $0.to) = (
            String(now.dropFirst(11).prefix(5)), String(end.dropFirst(11).prefix(5))
          )
          $0.items = ["a", "b"].map { item in .with { ($0.item, $0.title) = (item, "note \(item)") }
          }
        }))
    let connection = try stack.connection()
    try await eventually("the cycle is set") {
      try connection.query("SELECT FROM reminder_page('ann', NULL, 10)").count == 1
    }
    try await eventually("a note has come") {
      let texts = try connection.query("SELECT text FROM alarm_page('ann', NULL, 10)")
        .map { try $0.text(0) }
      return texts.contains { ["note a", "note b"].contains($0.suffix(6)) }
    }
  }

  @Test("a rebuild, its swap, and applying the log again ring nobody")
  func rebuilt() async throws {
    let stack = try Stack(partitions: 2)
    defer { stack.stop() }
    for worker in Stack.workers { try stack.start(worker) }
    try publish(
      stack,
      .reminderSet(
        .with {
          ($0.user, $0.reminder, $0.title, $0.zone) = ("ann", "once", "Call", "UTC")
          $0.at = local(secondsFromNow: 3, zoneHours: 0)
        }),
      .reminderSet(
        .with {
          ($0.user, $0.reminder, $0.title, $0.zone) = ("ann", "later", "Walk", "UTC")
          ($0.at, $0.repeat) = ("2040-01-01T09:00:00", "FREQ=DAILY")
        }))
    let connection = try stack.connection()
    try await eventually("the first reminder has rung") {
      try connection.query("SELECT FROM alarm_page('ann', NULL, 10)").count == 1
    }
    func rings() throws -> [String] {
      try connection.query(
        """
        SELECT concat_ws(' ', reminder_id, occurrence, revision, is_published, xmin) FROM reminder_rings
        """
      ).map { try $0.text(0) }
    }
    let verified = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(verified.exit == .exited(0), "\(verified.output)")
    let before = try rings()
    for arguments in [
      ["--rebuild", "reminders"], ["--diff"], ["--swap"], ["--apply", "--topic", "reminders"],
    ] {
      let run = try stack.magpie(["replay"] + arguments)
      #expect(run.exit == .exited(0), "\(arguments): \(run.output)")
    }
    // The rebuilt reminder is due in the past, until a lane finds that it has rung.
    try await eventually("only the other reminder is to come") {
      try connection.query("SELECT reminder_id FROM reminder_page('ann', NULL, 10)")
        .map { try $0.text(0) } == ["later"]
    }
    #expect(try rings() == before)
    let after = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(after.exit == .exited(0), "\(after.output)")
    #expect(try connection.query("SELECT FROM alarm_page('ann', NULL, 10)").count == 1)
  }

  private func publish(_ stack: Stack, _ payloads: Payload...) throws {
    let producer = try Producer(configuration: TestBroker.shared.configuration)
    defer { producer.close() }
    try producer.send(
      payloads.map { payload in
        let event = Event(id: UUID().uuidString, source: "test", time: .now, payload: payload)
        return try OutgoingRecord(
          topic: event.topic.name(prefix: stack.prefix), wire: EventCodec.encode(event))
      })
  }

  /// Such as `2026-11-23T07:00:00`.
  private func local(secondsFromNow: Int64, zoneHours: Int64) -> String {
    let seconds = EventTime.now.microseconds / 1_000_000 + secondsFromNow + zoneHours * 3600
    return String(EventTime(microseconds: seconds * 1_000_000).rfc3339.prefix(19))
  }
}
