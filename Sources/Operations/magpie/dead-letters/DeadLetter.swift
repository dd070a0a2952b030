import Events
import Handling
import Kafka
import Postgres

/// A row of `dead_letters`.
struct DeadLetter {
  var group: String
  var record: Record
  var reasonCode: String
  var reason: String
  var attempts: Int
  var codeVersion: String
  var deadLetteredAt: EventTime
  var state: String
  var resolvedAt: EventTime?
  var resolvedBy: String?
  var resolution: String?

  var id: LetterID {
    LetterID(
      group: group, topic: record.topic, partition: record.partition, offset: record.offset)
  }

  static let columns = """
    consumer_group, topic, partition, record_offset, record_time, key, value, header_names,
    header_values, reason_code, reason, attempts, code_version, dead_lettered_at, state, resolved_at,
    resolved_by, resolution
    """

  init(_ row: Row) throws {
    group = try row.text("consumer_group")
    let wire = try WireRecord(letter: row)
    record = Record(
      topic: try row.text("topic"), partition: Int32(try row.int("partition")),
      offset: try row.int8("record_offset"),
      timestampMilliseconds: (try row.timestamptzOrNil("record_time")).map { $0 / 1000 } ?? -1,
      key: wire.key, value: wire.value, headers: wire.headers)
    reasonCode = try row.text("reason_code")
    reason = try row.text("reason")
    attempts = try row.int("attempts")
    codeVersion = try row.text("code_version")
    deadLetteredAt = EventTime(microseconds: try row.timestamptz("dead_lettered_at"))
    state = try row.text("state")
    resolvedAt = try row.timestamptzOrNil("resolved_at").map(EventTime.init)
    resolvedBy = try row.textOrNil("resolved_by")
    resolution = try row.textOrNil("resolution")
  }
}

/// The id of a dead letter: `GROUP:TOPIC/PARTITION/OFFSET`. The group may be omitted if only one worker
/// has a dead letter of the record. Also parses `TOPIC[PARTITION]@OFFSET`, as workers log it.
struct LetterID: Equatable {
  var group: String?
  var topic: String
  var partition: Int32
  var offset: Int64

  var description: String { (group.map { $0 + ":" } ?? "") + "\(topic)/\(partition)/\(offset)" }
}

extension LetterID {
  init?(_ text: String) {
    // Topic names do not contain these characters.
    let place: Substring
    if let colon = text.lastIndex(of: ":") {
      group = String(text[..<colon])
      place = text[text.index(after: colon)...]
    } else {
      place = text[...]
    }
    let parts = place.split(omittingEmptySubsequences: false) { "/[".contains($0) }
    switch parts.count {
    case 3:
      guard let partition = Int32(parts[1]), let offset = Int64(parts[2]) else { return nil }
      (self.partition, self.offset) = (partition, offset)
    case 2:
      let numbers = parts[1].split(separator: "]@", omittingEmptySubsequences: false)
      guard numbers.count == 2, let partition = Int32(numbers[0]), let offset = Int64(numbers[1])
      else { return nil }
      (self.partition, self.offset) = (partition, offset)
    default: return nil
    }
    topic = String(parts[0])
    guard !topic.isEmpty, partition >= 0, offset >= 0 else { return nil }
  }
}
