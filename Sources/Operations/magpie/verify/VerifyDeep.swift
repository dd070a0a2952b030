import AlarmText
import Alarms
import ArgumentParser
import Foundation
import Postgres
import RecordLog
import Verification

/// The options of `verify --deep`.
struct DeepOptions: ParsableArguments {
  @Flag(help: "Compute every table from the log with a simple in-memory model, and compare.")
  var deep = false

  @Option(
    parsing: .unconditional,
    help: "With --deep: the number of slices of people (default: one per 100000 records).")
  var slices: Int?

  @Option(
    help: ArgumentHelp(
      "With --deep: read records that Kafka no longer holds from this archive.", valueName: "dir"))
  var archive: String?

  @Option(
    help: """
      With --deep: the language of readers whose own is unknown, as the alarm-worker has it \
      (default: en). [env: MAGPIE_DEFAULT_LOCALE]
      """)
  var defaultLocale: String?

  @Option(
    help: """
      With --deep: the directory with sentences that the alarm-worker uses. \
      [env: MAGPIE_CATALOG_DIR]
      """)
  var catalogDir: String?

  @OptionGroup var output: ComparisonOptions

  func validate() throws {
    guard (1...Slice.countMax).contains(slices ?? 1) else {
      throw ValidationError("--slices must be 1 to \(Slice.countMax).")
    }
    let given: [(name: String, isGiven: Bool)] = [
      ("--slices", slices != nil), ("--archive", archive != nil),
      ("--default-locale", defaultLocale != nil), ("--catalog-dir", catalogDir != nil),
      ("--html", output.html != nil), ("--samples", output.samples != nil),
    ]
    if !deep, let option = given.first(where: \.isGiven) {
      throw ValidationError("\(option.name) is for --deep.")
    }
  }

  /// Renders the expected alarms.
  private func engine() throws -> AlarmTextEngine {
    var configuration = AlarmTextEngine.Configuration()
    configuration.defaultLocale = setting(defaultLocale, "MAGPIE_DEFAULT_LOCALE") ?? "en"
    return try AlarmTextEngine(
      catalogDirectory: setting(catalogDir, "MAGPIE_CATALOG_DIR"), configuration: configuration)
  }

  func run(_ database: DatabaseOptions, _ kafka: KafkaOptions, json: Bool, progress: Bool) throws {
    let engine = try engine()
    let log = try recordLogOpener(kafka.configuration(), archive: archive)()
    let seconds = 24 * 3600
    let verification = DeepVerification(
      try database.connect(statementTimeoutSeconds: seconds),
      later: { try database.connect(statementTimeoutSeconds: seconds) }, log: log,
      prefix: kafka.prefix, engine: engine, slices: slices)
    var shown = Progress(forced: progress)
    let start = ContinuousClock.now
    var report: ComparisonReport
    do {
      report = try verification.run(report: output.report) { state in
        let slice = state.slices > 1 ? "slice \(state.slice + 1) of \(state.slices): " : ""
        shown.show(
          "\(slice)\(state.records) records read" + (state.table.map { ", comparing \($0)" } ?? ""))
      }
      shown.show("reading alarm-changes")
      report = try PublishedAlarms(
        try database.connect(statementTimeoutSeconds: seconds), log: log, prefix: kafka.prefix,
        slices: slices
      ).run(report: report)
    } catch let error as DeepVerificationError {
      shown.clear()
      throw Failure(
        .logIncomplete,
        "\(error).\n" + nextStep(after: error))
    } catch let error as RecordLogError {
      shown.clear()
      guard case .gap = error else { throw error }
      throw Failure(
        .logIncomplete,
        "\(error): Kafka deleted them before they were archived, so the tables cannot be "
          + "recomputed.\n`magpie verify` without --deep checks the tables without the log.")
    }
    shown.clear()
    let note = try ErasureState.note(database.connect())
    let took = (ContinuousClock.now - start).formatted(.time(pattern: .hourMinuteSecond))
    try show(
      report,
      ComparisonWords(
        title: "The tables against the log", expected: "from the log", found: "in the tables"),
      notes: [
        "Computed from \(archive.map { "the archive \($0) and " } ?? "")the log, "
          + "topics \(kafka.prefix)*, in \(took)", "At \(Date.now.formatted(.iso8601))",
      ] + note,
      options: output, json: json)
  }

  private func nextStep(after error: DeepVerificationError) -> String {
    switch error {
    case .logIncomplete:
      archive == nil ? "If an archive covers it, pass --archive." : ""
    case .logTooShort: "Use the Kafka cluster and topic prefix of the workers."
    }
  }
}

/// The checksum of a table.
struct ChecksumLine: Encodable {
  var table: String
  var rows: Int64
  var checksum: String

  /// Prints all checksums of one snapshot.
  static func printAll(_ connection: Connection, json: Bool) throws {
    try connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    for table in CanonicalTable.all {
      let sum = try table.checksum(on: connection)
      if json {
        printJSON(ChecksumLine(table: sum.table, rows: sum.rows, checksum: sum.checksum))
      } else {
        Console.output.line("\(sum.table)  \(sum.rows) rows  \(sum.checksum)")
      }
    }
    try connection.query("COMMIT")
  }
}
