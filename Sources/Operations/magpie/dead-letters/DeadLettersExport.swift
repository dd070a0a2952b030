import ArgumentParser
import Events
import Postgres

struct DeadLettersExport: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write dead letters as JSON lines: as records, or as events to publish again.",
    discussion: """
      With --as records (the default), each line contains the record's place, its key, value and headers \
      in Base64, the reason of the failure, and the decoded event under `event`, if it can be decoded. \
      With --as events, only the events are written, for `magpie publish -`, which sends them with the \
      right key and topic. If some cannot be decoded, it prints their number and exits with 1.
      """)

  enum Form: String, CaseIterable, ExpressibleByArgument {
    case records, events
  }

  @OptionGroup var database: DatabaseOptions
  @OptionGroup var filter: DeadLetterFilter

  @OptionGroup var topics: TopicOptions

  @Option(help: "Only dead letters in this state.")
  var state = DeadLettersList.State.open

  @Option(name: .customLong("as"), help: "records or events.")
  var form = Form.records

  @Option(help: "The file; - is standard output.")
  var output = "-"

  @Argument(help: "Only the dead letters with these ids: GROUP:TOPIC/PARTITION/OFFSET.")
  var ids: [LetterID] = []

  func run() throws {
    let connection = try database.connect()
    let prefix = topics.prefix
    let condition = try filter.condition(
      prefix: prefix, ids: ids, states: state == .all ? nil : [state.rawValue])
    let file = try LineWriter(path: output)
    var (written, left) = (0, 0)
    var place: LetterID?
    while true {
      var page = condition
      if let place { page.and(behind: place) }
      // A few at a time, because a record may have a MiB.
      let letters = try connection.query(
        """
        SELECT \(DeadLetter.columns) FROM dead_letters WHERE \(page.sql)
        ORDER BY consumer_group, topic, partition, record_offset LIMIT 32
        """, page.parameters
      ).map { try DeadLetter($0) }
      guard let last = letters.last else { break }
      place = last.id
      for letter in letters {
        let event = RecordAnatomy(letter.record.wire).event.flatMap {
          try? StructuredEvent.encode($0)
        }
        if form == .records {
          try file.write(ExportedRecord.line(letter, event: event))
        } else if let event {
          try file.write(escapedJSONForDisplay(event))
        } else if letter.record.wire.isErased {
          continue
        } else {
          left += 1
          continue
        }
        written += 1
      }
    }
    try file.close()
    guard left == 0 else {
      throw Failure(
        .found,
        "\(written) events written; \(left) dead letters cannot be decoded. `--as records` writes "
          + "their bytes.")
    }
    if output != "-" { Console.error.line("\(written) written") }
  }
}

/// A dead letter for other programs, complete and undecoded.
private struct ExportedRecord: Encodable {
  struct Header: Encodable {
    var name: String
    var value: String?
  }

  var group: String
  var topic: String
  var partition: Int32
  var offset: Int64
  /// Milliseconds since 1970-01-01 UTC.
  var timestamp: Int64?
  var key: String?
  var value: String?
  var headers: [Header]
  var reasonCode: String
  var reason: String
  var attempts: Int
  var codeVersion: String
  var deadLetteredAt: String
  var state: String
  var resolution: String?

  /// - Parameter event: JSON, inserted unchanged.
  static func line(_ letter: DeadLetter, event: String?) -> String {
    let record = letter.record
    let exported = ExportedRecord(
      group: letter.group, topic: record.topic, partition: record.partition, offset: record.offset,
      timestamp: record.timestampMilliseconds < 0 ? nil : record.timestampMilliseconds,
      key: record.key.map(base64), value: record.value.map(base64),
      headers: record.headers.map { Header(name: $0.name, value: $0.value.map(base64)) },
      reasonCode: letter.reasonCode, reason: letter.reason, attempts: letter.attempts,
      codeVersion: letter.codeVersion, deadLetteredAt: letter.deadLetteredAt.rfc3339,
      state: letter.state, resolution: letter.resolution)
    let line = jsonLine(exported)
    guard let event else { return line }
    return line.dropLast() + ",\"event\":" + escapedJSONForDisplay(event) + "}"
  }
}
