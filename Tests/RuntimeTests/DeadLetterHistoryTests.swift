import Kafka
import Postgres
import TestSupport
import Testing

@testable import Events
@testable import Lanes
@testable import Service

/// The stored history of a dead letter.
@Suite struct DeadLetterHistoryTests {
  private let connection: Connection

  init() throws { connection = try TestDatabase.connection() }

  private func fail(_ reason: String, value: String = "v") throws {
    let record = Record(
      topic: "t", partition: 0, offset: 7, timestampMilliseconds: 1, key: [1],
      value: Array(value.utf8), headers: [Header("a", "b")])
    let batch = Batch(
      topic: .likes,
      items: [
        Batch.Item(
          record: record, content: .poison(DeadLetterReason(code: "bad-json", message: reason)))
      ])
    try connection.transaction {
      try connection.script("SET LOCAL ROLE magpie_alarm")
      _ = try connection.pipeline(deadLetterStatements(batch, consumerGroup: "g.alarm"))
    }
  }

  private func history() throws -> [String] {
    try connection.query(
      """
      SELECT entry || ' ' || what || ' ' || coalesce(reason, '') || coalesce(done_by, '')
        || ' ' || attempts
      FROM dead_letter_history ORDER BY entry
      """
    ).map { try $0.text(0) }
  }

  private func state() throws -> String {
    try connection.query("SELECT state FROM dead_letters").only.text(0)
  }

  private func resolve(_ state: String) throws {
    try connection.query(
      "UPDATE dead_letters SET state = $1, resolved_at = now(), resolved_by = 'me', "
        + "resolution = 'because'", [.text(state)])
  }

  @Test("a second failure keeps the first one's reason, and a decision adds an entry")
  func keeps() throws {
    try fail("one")
    try fail("two")
    try resolve("redriven")
    #expect(try history() == ["1 failed one 1", "2 failed two 2", "3 redriven me 2"])
    #expect(try connection.query("SELECT reason FROM dead_letters").only.text(0) == "two")
  }

  @Test("a redriven record that fails again is reopened; a discarded one is not")
  func reopens() throws {
    try fail("one")
    try resolve("redriven")
    try fail("two")
    #expect(try state() == "open")
    try resolve("discarded")
    try fail("three")
    #expect(try state() == "discarded")
    #expect(try connection.query("SELECT resolution FROM dead_letters").only.text(0) == "because")
    // A different record at the same offset was not discarded.
    try fail("four", value: "other")
    #expect(try state() == "open")
    #expect(try history().count == 6)
  }

  @Test("a state without a time and a discard without a reason are rejected")
  func refuses() throws {
    try fail("one")
    #expect(throws: PostgresError.self) {
      try connection.query("UPDATE dead_letters SET state = 'redriven'")
    }
    #expect(throws: PostgresError.self) {
      try connection.query("UPDATE dead_letters SET state = 'discarded', resolved_at = now()")
    }
    #expect(throws: PostgresError.self) {
      try connection.query(
        "UPDATE dead_letters SET state = 'discarded', resolved_at = now(), resolution = ''")
    }
  }
}
