import ArgumentParser
import Events
import Foundation
import Kafka
import Postgres

struct DeadLettersShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract:
      "Show a dead letter: the reason, the decoded record and the history."
  )

  @OptionGroup var database: DatabaseOptions
  @Argument(help: "GROUP:TOPIC/PARTITION/OFFSET.")
  var id: LetterID

  @OptionGroup var topics: TopicOptions

  @Flag(help: "Show all bytes of the value instead of the first 1024.")
  var full = false

  @Flag(help: "Print one JSON object; key, value and headers also in Base64.")
  var json = false

  func run() throws {
    let connection = try database.connect()
    let prefix = topics.prefix
    let letters = try id.find(connection)
    for letter in letters {
      let past = try LetterHistory.read(letter.id, connection)
      if json {
        printJSON(ShownLetter(letter, past: past, prefix: prefix))
      } else {
        Console.output.write(letter.text(past: past, prefix: prefix, isFull: full))
      }
    }
  }
}

extension LetterID {
  /// The dead letters with this id: one for each worker that could not apply the record.
  ///
  /// - Throws: `Failure` if there is none.
  func find(_ connection: Connection) throws -> [DeadLetter] {
    var condition = SQLCondition()
    condition.and([self])
    let rows = try connection.query(
      "SELECT \(DeadLetter.columns) FROM dead_letters WHERE \(condition.sql) ORDER BY consumer_group",
      condition.parameters)
    guard rows.count > 0 else {
      throw Failure(
        .found,
        "There is no dead letter \(description). `magpie dead-letters list --state all` "
          + "lists them.")
    }
    return try rows.map { try DeadLetter($0) }
  }
}

/// One attempt to apply a dead letter, or one decision about it.
struct LetterHistory: Encodable, Sendable {
  var time: String
  var what: String
  var reasonCode: String?
  var reason: String?
  var attempts: Int
  var codeVersion: String
  var by: String?
  var note: String?

  static func read(_ id: LetterID, _ connection: Connection) throws -> [LetterHistory] {
    try connection.query(
      """
      SELECT happened_at, what, reason_code, reason, attempts, code_version, done_by, note
      FROM dead_letter_history
      WHERE consumer_group = $1 AND topic = $2 AND partition = $3 AND record_offset = $4
      ORDER BY entry
      """, [.text(id.group), .text(id.topic), .int4(id.partition), .int8(id.offset)]
    ).map { row in
      LetterHistory(
        time: EventTime(microseconds: try row.timestamptz(0)).rfc3339, what: try row.text(1),
        reasonCode: try row.textOrNil(2), reason: try row.textOrNil(3),
        attempts: try row.int(4), codeVersion: try row.text(5), by: try row.textOrNil(6),
        note: try row.textOrNil(7))
    }
  }

  var text: String {
    var text = "  \(time)  \(what)"
    if let reasonCode { text += "  \(escapedForDisplay(reasonCode)): \(excerpt(reason ?? ""))" }
    if let by { text += "  by \(excerpt(by))" }
    if let note, !note.isEmpty { text += ": \(excerpt(note))" }
    return text + Style.dim("  code \(escapedForDisplay(codeVersion))") + "\n"
  }
}

/// A dead letter as one JSON object.
struct ShownLetter: Encodable, Sendable {
  struct Header: Encodable, Sendable {
    var name: String
    var base64: String?
    var text: String?
  }

  var id: String
  var group: String
  var topic: String
  var partition: Int32
  var offset: Int64
  var recordTime: String?
  var state: String
  var reasonCode: String
  var reason: String
  var attempts: Int
  var keyBase64: String?
  var keyText: String?
  var valueBytes: Int?
  var valueBase64: String?
  var headers: [Header]
  var type: String?
  /// The data as JSON, if the value can be decoded.
  var data: String?
  var protobufFields: [String]
  /// The current decoding error; null if the record can be decoded.
  var problemToday: String?
  var resolvedAt: String?
  var resolvedBy: String?
  var resolution: String?
  var history: [LetterHistory]

  /// - Parameter bytesMax: of the value and of its data that are in the object.
  init(_ letter: DeadLetter, past: [LetterHistory], prefix: String, bytesMax: Int = .max) {
    let anatomy = RecordAnatomy(letter.record.wire)
    id = letter.id.description
    group = letter.group
    topic = letter.record.topic
    partition = letter.record.partition
    offset = letter.record.offset
    recordTime = letter.record.time?.rfc3339
    state = letter.state
    reasonCode = letter.reasonCode
    reason = letter.reason
    attempts = letter.attempts
    keyBase64 = letter.record.key.map(base64)
    keyText = letter.record.key.flatMap { String(validating: $0, as: UTF8.self) }
    valueBytes = letter.record.value?.count
    valueBase64 = letter.record.value.map { base64(Array($0.prefix(bytesMax))) }
    headers = letter.record.headers.map { header in
      Header(
        name: header.name, base64: header.value.map(base64),
        text: header.value.flatMap { String(validating: $0, as: UTF8.self) })
    }
    type = anatomy.type?.rawValue
    data = anatomy.json.map { bytesMax == .max ? $0 : String($0.prefix(bytesMax)) }
    protobufFields = anatomy.protobufFields
    problemToday = letter.problemToday(prefix: prefix)
    resolvedAt = letter.resolvedAt?.rfc3339
    resolvedBy = letter.resolvedBy
    resolution = letter.resolution
    history = past
  }
}

func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
