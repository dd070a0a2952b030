import Events
import Handling
import Kafka
import Postgres

/// Statements that store the poison of the batch, one for each record.
///
/// An existing row is from before an offset reset: the attempts are added, and the dead letter is open
/// again, unless the same record was discarded. The value of a secret topic's record is not stored, so its dead letter can only be discarded. One of
/// which erasures leave nothing is discarded at once.
func deadLetterStatements(_ batch: Batch, consumerGroup: String) -> [Statement] {
  batch.items.flatMap { item -> [Statement] in
    guard case .poison(let reason) = item.content else { return [] }
    let record = item.record
    let wire = stored(item.remainder ?? record.wire, of: batch.topic)
    let isSame = """
      (d.key, d.value, d.header_names, d.header_values) IS NOT DISTINCT FROM
        (excluded.key, excluded.value, excluded.header_names, excluded.header_values)
      """
    let place: [Parameter] = [
      .text(consumerGroup), .text(record.topic), .int4(record.partition), .int8(record.offset),
    ]
    let letter = Statement(
      """
      INSERT INTO dead_letters AS d (
        consumer_group, topic, partition, record_offset, record_time, key, value,
        header_names, header_values, reason_code, reason, attempts, code_version,
        state, resolved_at, resolved_by, resolution)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
        CASE WHEN $14::text IS NULL THEN 'open' ELSE 'discarded' END,
        CASE WHEN $14 IS NOT NULL THEN now() END, $14, CASE WHEN $14 IS NOT NULL THEN $11 END)
      ON CONFLICT (consumer_group, topic, partition, record_offset) DO UPDATE SET
        record_time = excluded.record_time, key = excluded.key, value = excluded.value,
        header_names = excluded.header_names, header_values = excluded.header_values,
        reason_code = excluded.reason_code,
        -- What an erasure has left of a record is not the record.
        reason = CASE WHEN d.reason = $15 AND \(isSame) THEN d.reason ELSE excluded.reason END,
        attempts = d.attempts + excluded.attempts, code_version = excluded.code_version,
        dead_lettered_at = excluded.dead_lettered_at,
        (state, resolved_at, resolved_by, resolution) = (
          SELECT CASE WHEN kept THEN d.state ELSE excluded.state END,
            CASE WHEN kept THEN d.resolved_at ELSE excluded.resolved_at END,
            CASE WHEN kept THEN d.resolved_by ELSE excluded.resolved_by END,
            CASE WHEN kept THEN d.resolution ELSE excluded.resolution END
          FROM (SELECT d.state = 'discarded' AND \(isSame)) AS same (kept))
      """,
      place + [
        .timestamptz(recordTimeMicroseconds(record)), .bytea(wire.key), .bytea(wire.value),
        .textArray(wire.headers.map(\.name)),
        .byteaArray(wire.headers.map(\.value)), .text(reason.code),
        .text(item.remainder == nil ? storable(reason.message) : erasedText),
        .int4(Int32(clamping: reason.attempts)), .text(codeVersion),
        .text(item.remainder?.isErased == true ? erasedBy : nil), .text(erasedText),
      ])
    return item.remainder == nil ? [letter] : [letter, forgettingHistory(of: place)]
  }
}

/// Finds what erasures leave of the batch's poison. The transaction must have a transaction id already, as for
/// `Erasures`. A request to erase somebody stays while the worker has yet to erase them, although others may have applied
/// it: its sweep of the person forgets it.
func forgettingErased(
  _ batch: Batch, worker: String, on connection: Connection
) throws -> Batch {
  let poison = batch.items.indices.filter { batch.items[$0].isPoison }
  guard !poison.isEmpty else { return batch }
  let letters = poison.map { index in
    let record = batch.items[index].record
    return RecordForgetting(
      record.wire, topic: batch.topic,
      time: recordTimeMicroseconds(record).map { EventTime(microseconds: $0) })
  }
  // More strings than that are in no record that anybody sends by mistake. What workers publish may name people whose
  // erasures are older.
  let erasures = try Erasures(
    naming: letters.lazy.map {
      (batch.topic.isInternal ? nil : $0.time, Array($0.ids.prefix(10_000)))
    }, on: connection)
  let isRequest = batch.topic == .erasures
  var batch = batch
  for (index, letter) in zip(poison, letters) {
    batch.items[index].remainder = letter.remainder { id in
      isRequest && erasures.isAwaited(id, of: worker) ? nil : erasures[id]
    }
  }
  return batch
}

/// Marks the records of a batch that are already dead letters, in any state.
func markingKnownDeadLetters(
  _ batch: Batch, consumerGroup: String, on connection: Connection
) throws -> Batch {
  let records = batch.items.map(\.record)
  let rows = try connection.query(
    """
    SELECT d.partition, d.record_offset FROM dead_letters d
    JOIN unnest($3::int[], $4::bigint[]) AS l (partition, record_offset)
      ON d.partition = l.partition AND d.record_offset = l.record_offset
    WHERE d.consumer_group = $1 AND d.topic = $2
    """,
    [
      .text(consumerGroup), .text(records.first?.topic ?? ""),
      .int4Array(records.map(\.partition)), .int8Array(records.map(\.offset)),
    ])
  let known = Set(try rows.map { try OffsetInTopic($0) })
  var batch = batch
  for index in batch.items.indices {
    batch.items[index].isKnownDeadLetter = known.contains(batch.items[index].record.offsetInTopic)
  }
  return batch
}

/// The offset of the last dead letter, in any state, of each partition that has some at or after the stored offset.
func lastDeadLetters(
  after owned: [TopicPartition: Ownership], consumerGroup: String, on connection: Connection
) throws -> [TopicPartition: Int64] {
  let partitions = owned.keys.sorted()
  let rows = try connection.query(
    """
    SELECT p.topic, p.partition, last.record_offset
    FROM unnest($2::text[], $3::int[], $4::bigint[]) AS p (topic, partition, next_offset)
    CROSS JOIN LATERAL (
      SELECT record_offset FROM dead_letters
      WHERE consumer_group = $1 AND topic = p.topic AND partition = p.partition
        AND record_offset >= p.next_offset
      ORDER BY record_offset DESC LIMIT 1) AS last
    """,
    [
      .text(consumerGroup), .textArray(partitions.map(\.topic)),
      .int4Array(partitions.map(\.partition)), .int8Array(partitions.map { owned[$0]?.nextOffset }),
    ])
  return Dictionary(
    try rows.map {
      (TopicPartition(topic: try $0.text(0), partition: Int32(try $0.int(1))), try $0.int8(2))
    }, uniquingKeysWith: max)
}

/// What is known of a batch's records because they were read before.
struct FormerLetters {
  /// The records that an operator or an erasure discarded.
  private(set) var discarded: Set<OffsetInTopic> = []
  /// Where open and discarded dead letters are of other records: the log was replaced, or a replay reads another one.
  private(set) var ofOtherRecords: Set<OffsetInTopic> = []

  init() {}

  init(of batch: Batch, consumerGroup: String, on connection: Connection) throws {
    let records = Dictionary(
      batch.items.map { ($0.record.offsetInTopic, $0.record) },
      uniquingKeysWith: { first, _ in first })
    let places = Array(records.keys)
    let rows = try connection.query(
      """
      SELECT d.partition, d.record_offset, d.key, d.value, d.header_names, d.header_values,
        d.state = 'discarded', d.reason = $5, d.record_time
      FROM dead_letters d
      JOIN unnest($3::int[], $4::bigint[]) AS l (partition, record_offset)
        ON d.partition = l.partition AND d.record_offset = l.record_offset
      WHERE d.consumer_group = $1 AND d.topic = $2 AND d.state IN ('open', 'discarded')
      """,
      [
        .text(consumerGroup), .text(batch.items.first?.record.topic ?? ""),
        .int4Array(places.map(\.partition)), .int8Array(places.map(\.offset)), .text(erasedText),
      ])
    for row in rows {
      let place = try OffsetInTopic(row)
      guard let record = records[place] else { continue }
      let letter = try WireRecord(letter: row)
      // Of a record that an erasure changed, or that is not stored, only the time can be compared.
      let isStored = letter.key != nil || letter.value != nil || !letter.headers.isEmpty
      let isSame =
        try isStored && !row.bool(7)
        ? letter == stored(record.wire, of: batch.topic)
        : try row.timestamptzOrNil(8).map { $0 == recordTimeMicroseconds(record) } ?? true
      if !isSame {
        ofOtherRecords.insert(place)
      } else if try row.bool(6) {
        discarded.insert(place)
      }
    }
  }
}

/// Puts dead letters of a log that is gone aside. They stay what they are: an open one can be redriven.
func setAsideStatement(_ places: Set<OffsetInTopic>, of topic: String, consumerGroup: String)
  -> Statement
{
  let places = places.sorted { ($0.partition, $0.offset) < ($1.partition, $1.offset) }
  return Statement(
    """
    UPDATE dead_letters d SET topic = \(goneTopic)
    FROM unnest($3::int[], $4::bigint[]) AS l (partition, record_offset)
    WHERE d.consumer_group = $1 AND d.topic = $2 AND d.partition = l.partition
      AND d.record_offset = l.record_offset
    """,
    [
      .text(consumerGroup), .text(topic), .int4Array(places.map(\.partition)),
      .int8Array(places.map(\.offset)),
    ])
}

/// Marks dead letters whose records the batch applies as redriven.
///
/// - Parameter resolution: why, for the history; nil because they are applied.
func redrivenStatement(
  _ batch: Batch, consumerGroup: String, resolvedBy: String, resolution: String? = nil
) -> Statement {
  let applied = batch.items.filter { !$0.isPoison }.map(\.record)
  return Statement(
    """
    UPDATE dead_letters d SET state = 'redriven', attempts = attempts + 1, code_version = $5,
      resolved_at = now(), resolved_by = $6, resolution = $7
    FROM unnest($3::int[], $4::bigint[]) AS l (partition, record_offset)
    WHERE d.consumer_group = $1 AND d.topic = $2 AND d.partition = l.partition
      AND d.record_offset = l.record_offset AND d.state IN ('open', 'discarded')
    """,
    [
      .text(consumerGroup), .text(applied.first?.topic ?? ""),
      .int4Array(applied.map(\.partition)), .int8Array(applied.map(\.offset)),
      .text(codeVersion), .text(resolvedBy), .text(resolution ?? "applied"),
    ])
}

/// Nil if the record has no time, or an implausible one.
private func recordTimeMicroseconds(_ record: Record) -> Int64? {
  let secondsMax: Int64 = 4_102_444_800  // the year 2100
  guard (0...secondsMax * 1000).contains(record.timestampMilliseconds) else { return nil }
  return record.timestampMilliseconds * 1000
}

/// What is stored of a record: no value of a secret topic, and no NUL in a header's name.
private func stored(_ record: WireRecord, of topic: Topic) -> WireRecord {
  WireRecord(
    key: record.key, value: topic.isSecret ? nil : record.value,
    headers: record.headers.map { Header(name: storable($0.name), value: $0.value) })
}

/// PostgreSQL's text holds no NUL.
private func storable(_ text: String) -> String {
  text.utf8.contains(0) ? String(text.map { $0 == "\0" ? "\u{FFFD}" : $0 }) : text
}

/// Where a record is in its topic.
struct OffsetInTopic: Hashable {
  var partition: Int32
  var offset: Int64
}

extension OffsetInTopic {
  /// Reads the first two columns.
  init(_ row: Row) throws {
    self.init(partition: Int32(clamping: try row.int(0)), offset: try row.int8(1))
  }
}

extension Record {
  var offsetInTopic: OffsetInTopic { OffsetInTopic(partition: partition, offset: offset) }
}
