import Events
import Postgres

/// A dead letter without its value.
struct ListedLetter: Encodable {
  var id: String
  var group: String
  var topic: String
  var partition: Int32
  var offset: Int64
  /// With octal escapes for bytes that are not ASCII, cut at 200 characters.
  var key: String?
  var valueBytes: Int?
  var reasonCode: String
  var reason: String
  var attempts: Int
  var codeVersion: String
  var deadLetteredAt: String
  var recordTime: String?
  var state: String
  var resolvedAt: String?
  var resolvedBy: String?
  var resolution: String?

  /// The dead letters that satisfy the condition, in the order of the primary key.
  ///
  /// - Parameter after: the last one of the previous page.
  static func page(
    _ connection: Connection, _ condition: SQLCondition, after: LetterID?, limit: Int
  ) throws -> [ListedLetter] {
    var page = condition
    if let after { page.and(behind: after) }
    return try connection.query(
      """
      SELECT consumer_group, topic, partition, record_offset, left(encode(key, 'escape'), 200) AS key,
        octet_length(value) AS value_bytes, reason_code, left(reason, 1000) AS reason, attempts,
        code_version, dead_lettered_at, record_time, state, resolved_at, resolved_by, resolution
      FROM dead_letters WHERE \(page.sql)
      ORDER BY consumer_group, topic, partition, record_offset LIMIT \(limit)
      """, page.parameters
    ).map { try ListedLetter($0) }
  }

  private init(_ row: Row) throws {
    group = try row.text("consumer_group")
    topic = try row.text("topic")
    partition = Int32(try row.int("partition"))
    offset = try row.int8("record_offset")
    id = LetterID(group: group, topic: topic, partition: partition, offset: offset).description
    key = try row.textOrNil("key")
    valueBytes = try row.intOrNil("value_bytes")
    reasonCode = try row.text("reason_code")
    reason = try row.text("reason")
    attempts = try row.int("attempts")
    codeVersion = try row.text("code_version")
    deadLetteredAt = EventTime(microseconds: try row.timestamptz("dead_lettered_at")).rfc3339
    recordTime = try row.timestamptzOrNil("record_time").map {
      EventTime(microseconds: $0).rfc3339
    }
    state = try row.text("state")
    resolvedAt = try row.timestamptzOrNil("resolved_at").map {
      EventTime(microseconds: $0).rfc3339
    }
    resolvedBy = try row.textOrNil("resolved_by")
    resolution = try row.textOrNil("resolution")
  }

  var text: String {
    var text =
      "\(Style.bold(escapedForDisplay(id)))  \(Style.yellow(escapedForDisplay(reasonCode)))"
    text += "  \(deadLetteredAt.prefix(19))Z  \(state)"
    if attempts > 1 { text += "  \(attempts) attempts" }
    text += "\n    \(excerpt(reason))\n"
    if let resolution {
      text += "    \(state) by \(excerpt(resolvedBy ?? "?")): \(excerpt(resolution))\n"
    }
    return text
  }
}
