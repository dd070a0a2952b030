import Events
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Handling
@testable import Lanes

/// Dead letters that name erased people.
@Suite struct DeadLetterForgettingTests {
  private let url: String
  private let connection: Connection
  private let erasedAt = EventTime(microseconds: 1_700_000_000_000_000)

  init() throws {
    url = try TestDatabase.fresh()
    connection = try Connection(url, applicationName: "test")
  }

  /// Dead-letters a record as a lane of a worker does.
  private func fail(
    _ value: String, at offset: Int64, group: String = "g.alarm", seconds: Int64 = 0,
    key: String? = nil, topic: Topic = .likes
  ) throws {
    let record = Record(
      topic: "g.\(topic.rawValue)", partition: 0, offset: offset,
      timestampMilliseconds: 1_700_000_000_000 + seconds * 1000, key: key.map { Array($0.utf8) },
      value: Array(value.utf8), headers: [Header("a", "b")])
    let reason = DeadLetterReason(code: "bad-json", message: "not \(value)")
    let batch = Batch(topic: topic, items: [Batch.Item(record: record, content: .poison(reason))])
    try connection.transaction {
      try connection.query("SELECT pg_current_xact_id()")
      let batch = try forgettingErased(
        batch, worker: String(group.split(separator: ".")[1]), on: connection)
      _ = try connection.pipeline(deadLetterStatements(batch, consumerGroup: group))
    }
  }

  private func apply(_ erasure: Event) throws {
    try connection.transaction {
      try connection.script("SET LOCAL ROLE magpie_alarm")
      _ = try erasuresWork([erasure], worker: "alarm").run(on: connection)
    }
  }

  private func erase(_ id: String) throws {
    try apply(
      Event(
        id: "e", source: "s", time: erasedAt, payload: .userErased(.with { $0.user = id })))
  }

  private func sweep() async throws {
    let sweep = ErasureSweep(worker: "alarm", stages: [])
    // It waits for transactions of other tests.
    try await eventually("the sweep ends") {
      var hasMore = true
      while hasMore {
        hasMore = try connection.transaction {
          try connection.script("SET LOCAL ROLE magpie_alarm")
          return try sweep.backlog().run(on: connection).hasMore
        }
      }
      return try connection.query("SELECT count(*) FROM alarm_erasures").only.int(0) == 0
    }
  }

  /// Each letter's state, and whether the row or its history has the text.
  private func letters(with text: String) throws -> [String] {
    try connection.query(
      """
      SELECT d.record_offset || ' ' || d.state || CASE WHEN concat(d::text, encode(d.value, 'escape'),
        encode(d.key, 'escape'), (SELECT string_agg(h::text, ' ') FROM dead_letter_history h
          WHERE h.consumer_group = d.consumer_group AND h.record_offset = d.record_offset)) LIKE $1
        THEN ' named' ELSE '' END
      FROM dead_letters d ORDER BY consumer_group, record_offset
      """, [.text("%\(text)%")]
    ).map { try $0.text(0) }
  }

  @Test func `a sweep leaves nothing of the worker's letters that name the person`() async throws {
    try fail(#"{"user":"ann-42"}"#, at: 1)
    try fail(#"{"user":"joann-428"}"#, at: 2)
    try fail("", at: 3, key: "ann-42")
    try fail(#"{"user":"ann-\u00342"}"#, at: 4)
    try fail(#"{"user":"ann-42"}"#, at: 5, seconds: 1)
    try fail(#"{"user":"ann-42"}"#, at: 6, group: "g.fanout")
    try connection.query(
      "UPDATE dead_letters SET state = 'redriven', resolved_at = now(), resolution = 'of ann-42' "
        + "WHERE record_offset = 3")
    try erase("ann-42")
    try await sweep()
    let after = [
      "1 discarded", "2 open", "3 discarded", "4 discarded", "5 open named", "6 open named",
    ]
    #expect(try letters(with: #""ann-42"#) == after)
    #expect(try letters(with: "of ann") == after.map { $0.replacing(" named", with: "") })
    let left = try connection.query(
      "SELECT key, value, header_names, reason, resolved_by FROM dead_letters WHERE record_offset = 1"
    ).only
    #expect(try left.byteaOrNil(0) == nil && left.byteaOrNil(1) == nil)
    #expect(try left.textArray(2) == [WireRecord.erasedHeader])
    #expect(try left.text(3) == erasedText && left.text(4) == erasedBy)
  }

  @Test func `letters of what workers publish go, too, if it was published before all are done`()
    async throws
  {
    func fail(at offset: Int64) throws {
      try self.fail(
        #"{"actor":"ann"}"#, at: offset, seconds: 1, topic: .notificationChanges)
    }
    try fail(at: 1)
    try erase("ann")
    try fail(at: 2)
    #expect(try letters(with: "\"ann") == ["1 open named", "2 discarded"])
    try await sweep()
    #expect(try letters(with: "\"ann") == ["1 discarded", "2 discarded"])
    try connection.script(
      "UPDATE erasures SET (waits_for, user_id, done_at) = ('{}', NULL, erased_at)")
    try fail(at: 3)
    #expect(try letters(with: "\"ann").last == "3 open named")
  }

  @Test func `a request that a worker could not apply stays until the worker sweeps`() async throws
  {
    try erase("ann")
    try fail(#"{"user":"ann"}"#, at: 1, topic: .erasures)
    try fail(#"{"user":"ann"}"#, at: 2, group: "g.fanout", topic: .erasures)
    #expect(try letters(with: "\"ann") == ["1 open named", "2 open named"])
    try await sweep()
    #expect(try letters(with: "\"ann") == ["1 discarded", "2 open named"])
    // Once that is done, nothing would forget it, nor another.
    try connection.query("UPDATE erasures SET waits_for = array_remove(waits_for, 'alarm')")
    for offset in [1, 3] { try fail(#"{"user":"ann"}"#, at: Int64(offset), topic: .erasures) }
    #expect(try letters(with: "\"ann") == ["1 discarded", "3 discarded", "2 open named"])
  }

  @Test func `more letters than one piece has, and one that a redrive has locked`() async throws {
    try connection.query(
      """
      INSERT INTO dead_letters (consumer_group, topic, partition, record_offset, record_time, key,
        value, header_names, header_values, reason_code, reason, code_version)
      SELECT g, 'g.likes', 0, i, '2000-01-01', CASE WHEN i % 7 = 0 THEN '\\x616e6e'::bytea END, '\\x5c', '{}', '{}',
        'c', 'r', '1'
      FROM unnest(ARRAY['a.push', 'g.alarm', 'h.alarm']) AS g, generate_series(1, 1207) AS i
      """)
    try erase("ann")
    let sweep = ErasureSweep(worker: "alarm", stages: [])
    _ = try connection.transaction { try sweep.backlog().run(on: connection) }
    try await eventually("the stage begins") {
      try connection.query(
        "SELECT horizon <= pg_snapshot_xmin(pg_current_snapshot()) FROM alarm_erasures"
      ).only.bool(0)
    }
    let other = try Connection(url, applicationName: "test")
    try other.script("BEGIN; SELECT FROM dead_letters WHERE record_offset = 7 FOR UPDATE")
    for _ in 0..<3 {
      let piece = try connection.transaction { try sweep.backlog().run(on: connection) }
      #expect(!piece.hasMore)
      #expect(try discarded() == 70)
    }
    try other.script("ROLLBACK")
    try await self.sweep()
    #expect(try discarded() == 344)
    #expect(
      try connection.query("SELECT count(*) FROM dead_letters WHERE key IS NOT NULL").only.int(0)
        == 172)
  }

  private func discarded() throws -> Int {
    try connection.query("SELECT count(*) FROM dead_letters WHERE state = 'discarded'").only.int(0)
  }

  @Test func `a letter that arrives after the erasure is written without the person`() throws {
    try fail(#"{"user":"ann"}"#, at: 1)
    try erase("ann")
    for _ in 0..<2 {
      try fail(#"{"user":"ann"}"#, at: 1)
      try fail(#"{"user":"ann"}"#, at: 2)
      try fail(#"{"user":"ann"}"#, at: 3, seconds: 1)
      try fail(#"{"user":"joann"}"#, at: 4)
      #expect(
        try letters(with: "\"ann") == ["1 discarded", "2 discarded", "3 open named", "4 open"])
    }
  }
}
