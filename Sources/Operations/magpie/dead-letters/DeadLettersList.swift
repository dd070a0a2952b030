import ArgumentParser
import Events
import Handling
import Postgres

struct DeadLettersList: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List or count dead letters.")

  enum Dimension: String, CaseIterable, ExpressibleByArgument {
    case group, topic, reason, state, hour, day

    var sql: String {
      switch self {
      case .group: "consumer_group"
      // As --topic selects: also those that were set aside.
      case .topic: recordTopic
      case .reason: "reason_code"
      case .state: "state"
      case .hour, .day:
        "to_char(date_trunc('\(rawValue)', dead_lettered_at), 'YYYY-MM-DD\"T\"HH24:MI\"Z\"')"
      }
    }
  }

  enum State: String, CaseIterable, ExpressibleByArgument {
    case open, redriven, discarded, rebuilt, all
  }

  @OptionGroup var database: DatabaseOptions
  @OptionGroup var filter: DeadLetterFilter
  @OptionGroup var topics: TopicOptions

  @Option(help: "Only dead letters in this state.")
  var state = State.open

  @Option(
    help: "Count them by this instead of listing them; may be repeated. \(Dimension.names)")
  var by: [Dimension] = []

  @Option(parsing: .unconditional, help: "The maximum number to list: 1 to 10000.")
  var limit = 50

  @Option(help: "List the dead letters after this one, the last of the previous page.")
  var after: LetterID?

  @Flag(
    help: """
      Print one JSON object per dead letter (id, group, topic, partition, offset, key, valueBytes, \
      reasonCode, reason, attempts, state, ...) and one with count and next; with --by, one an amount.
      """)
  var json = false

  func validate() throws {
    guard (1...10_000).contains(limit) else {
      throw ValidationError("--limit is \(limit), but must be 1 to 10000.")
    }
    guard after == nil || after?.group != nil else {
      throw ValidationError("--after takes GROUP:TOPIC/PARTITION/OFFSET.")
    }
  }

  func run() throws {
    let connection = try database.connect()
    let prefix = topics.prefix
    let condition = try filter.condition(
      prefix: prefix, states: state == .all ? nil : [state.rawValue])
    if by.isEmpty { try list(connection, condition) } else { try count(connection, condition) }
  }

  private func list(_ connection: Connection, _ condition: SQLCondition) throws {
    let total = try connection.query(
      "SELECT count(*) FROM dead_letters WHERE \(condition.sql)", condition.parameters
    ).only.int8(0)
    let rows = try ListedLetter.page(connection, condition, after: after, limit: limit)
    let next = rows.count == limit ? rows.last?.id : nil
    if json {
      for row in rows { printJSON(row) }
      return printJSON(PageEnd(count: total, next: next))
    }
    for row in rows { Console.output.write(row.text) }
    Console.output.line(
      total == 0 ? noneText : "\(total) \(letters); `magpie dead-letters show ID` shows one")
    if let next { Console.output.line(Style.dim("more: --after \(escapedForDisplay(next))")) }
  }

  private func count(_ connection: Connection, _ condition: SQLCondition) throws {
    let rows = try LetterCount.read(connection, by: by, condition, limit: limit)
    for row in rows {
      let amount = Amount(
        values: Dictionary(
          zip(by.map(\.rawValue), row.values), uniquingKeysWith: { first, _ in first }),
        count: row.count, oldest: row.oldest, newest: row.newest)
      if json {
        printJSON(amount)
        continue
      }
      let names = by.map { escapedForDisplay(amount.values[$0.rawValue] ?? "") }
      Console.output.line(
        "\(amount.count)  \(names.joined(separator: "  "))  "
          + Style.dim("\(amount.oldest) to \(amount.newest)"))
    }
    if rows.isEmpty, !json { Console.output.line(noneText) }
  }

  private var letters: String { (state == .all ? "" : "\(state.rawValue) ") + "dead letters" }
  private var noneText: String { "No \(letters)." }

  private struct PageEnd: Encodable {
    var count: Int64
    /// For --after; absent on the last page.
    var next: String?
  }

  private struct Amount: Encodable {
    var values: [String: String]
    var count: Int64
    var oldest: String
    var newest: String
  }
}

extension DeadLettersList.Dimension {
  fileprivate static let names = allCases.map(\.rawValue).joined(separator: ", ")
}
