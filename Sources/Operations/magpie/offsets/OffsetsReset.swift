import ArgumentParser
import Events
import Kafka
import Postgres
import RecordLog

struct OffsetsReset: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reset",
    abstract: "Set a worker's offsets in one partition, one topic or all its topics.",
    discussion: """
      Moving back applies records again. Correct rows do not change: every fact keeps its newest \
      version, and each notification is published again with a newer version, except those of an \
      author's new posts. Rows that a newer version has overwritten are not repaired either; \
      docs/operations describes a rebuild.

      Moving forward skips records for good, and is refused unless --skip-records gives their exact \
      number. Workers may keep running: their lanes are fenced and continue at the new offsets. The \
      number of records to skip changes with every batch, so stop the workers before skipping.
      """)

  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions
  @OptionGroup var scope: OffsetScope

  @Option(
    parsing: .unconditional,
    help: "Set this offset, the next one to apply; needs --topic and --partition.")
  var toOffset: Int64?

  @Option(help: "Set the offset of the first record at or after this time: \(Moment.help).")
  var toTime: Moment?

  @Flag(help: "Set the log start offset.")
  var toStart = false

  @Flag(help: "Set the end offset.")
  var toEnd = false

  @Option(
    parsing: .unconditional,
    help: "The exact total number of records to skip.")
  var skipRecords: Int64 = 0

  @Flag(
    help: """
      Also begin a new generation of notifications, whose snapshots replace all published so far: \
      needed after a failover that lost commits. Only with --group notification.
      """)
  var newGeneration = false

  @Flag(help: "Change nothing; print what would change.")
  var dryRun = false

  @Flag(
    help: """
      Print one JSON object per partition (group, topic, partition, from, to, skipped, reapplied, ...) \
      and one with the totals.
      """)
  var json = false

  func validate() throws {
    guard scope.group != nil else { throw ValidationError("--group is required.") }
    let targets = [toOffset != nil, toTime != nil, toStart, toEnd].count { $0 }
    guard targets == 1 else {
      throw ValidationError("Give one of --to-offset, --to-time, --to-start, --to-end.")
    }
    guard !newGeneration || scope.group?.hasSuffix("notification") == true else {
      throw ValidationError("--new-generation goes with --group notification.")
    }
    guard toOffset == nil || scope.partition != nil else {
      throw ValidationError("--to-offset needs --topic and --partition.")
    }
  }

  private struct Total: Encodable {
    var partitions: Int
    var skipped: Int64
    var reapplied: Int64
    var dryRun: Bool
  }

  func run() throws {
    let configuration = try kafka.configuration()
    let connection = try database.connect()
    guard let group = try scope.groups(prefix: kafka.prefix).first else { return }
    let name = group.name(prefix: kafka.prefix)
    let log = KafkaLogs(try KafkaLog(configuration: configuration))
    let topics = try scope.topics(of: group, prefix: kafka.prefix)
    let spans = try log.spans(topics).filter { scope.includes($0.key) }
    guard !spans.isEmpty else {
      throw Failure(.usage, "\(topics[0]) has no partition \(scope.partition ?? 0).")
    }
    let targets = try targets(spans, log)
    let (moves, failure) = try connection.shortTransaction {
      let stored = try StoredOffset.lock(name, connection)
      let moves = spans.sorted { $0.key < $1.key }.map { place, span in
        OffsetMove(
          name, place, from: stored[place]?.nextOffset, to: targets[place] ?? span.lowerBound,
          log: Watermarks(low: span.lowerBound, high: span.upperBound))
      }
      let failure = refusal(toSkip: moves.reduce(0) { $0 + $1.skipped })
      if !dryRun, failure == nil { try write(moves, connection) }
      return (moves, failure)
    }
    // Not before the commit.
    let total = Total(
      partitions: moves.count, skipped: moves.reduce(0) { $0 + $1.skipped },
      reapplied: moves.reduce(0) { $0 + $1.reapplied }, dryRun: dryRun)
    for move in moves where json || total.skipped > 0 || dryRun || moves.count <= 100 {
      if json { printJSON(move) } else { Console.output.line(move.text) }
    }
    if let failure { throw failure }
    if json { printJSON(total) } else { summarize(total) }
  }

  private func write(_ moves: [OffsetMove], _ connection: Connection) throws {
    try OffsetMove.write(moves, connection)
    guard newGeneration else { return }
    try connection.query(
      """
      INSERT INTO notification_generations (generation)
      SELECT max(generation) + 1 FROM notification_generations
      """)
    // A failover may have taken the sequence back. The gap is far more than any that it lost.
    try connection.script(
      """
      SELECT setval('alarm_versions', last_value + 1000000000000) FROM alarm_versions;
      SELECT publish_alarms();
      """)
  }

  private func targets(_ spans: [TopicPartition: Range<Int64>], _ log: KafkaLogs) throws
    -> [TopicPartition: Int64]
  {
    if toStart { return spans.mapValues(\.lowerBound) }
    if toEnd { return spans.mapValues(\.upperBound) }
    if let toTime {
      return try log.offsets(at: toTime.time.microseconds / 1000, in: spans)
    }
    let offset = toOffset ?? 0
    for (place, span) in spans where offset < span.lowerBound || offset > span.upperBound {
      throw Failure(
        .found,
        "\(place) holds offsets \(span.lowerBound) up to \(span.upperBound): offset \(offset) "
          + "is out of range. See --to-start and --to-end.")
    }
    return spans.mapValues { _ in offset }
  }

  /// Nil if so many records are to be skipped, or if a dry run is to tell.
  private func refusal(toSkip skipped: Int64) -> Failure? {
    guard skipped != skipRecords, !dryRun || skipRecords > 0 else { return nil }
    return Failure(
      .found,
      skipped == 0
        ? "Nothing was changed: this would skip no records instead of \(skipRecords)."
        : "Nothing was changed: this would skip \(skipped) records, which would never be applied"
          + (skipRecords == 0 ? "" : " (--skip-records says \(skipRecords))") + "."
          + (toTime == nil
            ? ""
            : "\nSome partitions have not reached this time yet. To apply all records, use an earlier time, "
              + "before the oldest record that waits there: then every partition goes back.")
          + "\nTo skip them, pass --skip-records \(skipped)")
  }

  private func summarize(_ total: Total) {
    var text = "\(total.partitions) partitions " + (total.dryRun ? "would be moved" : "moved")
    if total.skipped > 0 { text += "; \(total.skipped) records skipped" }
    if total.reapplied > 0 {
      text += "; \(total.reapplied) records are applied again, which leaves the same rows"
    }
    Console.output.line(text)
  }
}

/// Reads the cluster's log; reports a missing topic with the command that creates it.
struct KafkaLogs {
  private let log: KafkaLog

  init(_ log: KafkaLog) { self.log = log }

  func spans(_ topics: [String]) throws -> [TopicPartition: Range<Int64>] {
    do {
      return try log.spans(of: topics)
    } catch RecordLogError.unknownTopic(let topic) {
      throw Failure(
        .unavailable,
        "The topic \(topic) does not exist, or the Kafka user may not Describe it. Run: magpie topics"
      )
    }
  }

  func offsets(at milliseconds: Int64, in spans: [TopicPartition: Range<Int64>]) throws
    -> [TopicPartition: Int64]
  { try log.offsets(at: milliseconds, in: spans) }
}
