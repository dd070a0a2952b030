import ArgumentParser
import Events
import Kafka
import Postgres
import RecordLog

struct OffsetsReset: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reset",
    abstract: "Let a worker go on somewhere else: one partition, a topic, or all that it reads.",
    discussion: """
      Going back applies records again. That changes nothing that is right already: every fact keeps \
      its newest version, and each notification is published once more under a newer version. It also \
      mends nothing that a newer version has overwritten; see docs/operations for a rebuild.

      Going forward skips records for ever, and is refused unless --skip-records names exactly how \
      many. Workers may go on running: their lanes are fenced and go on from the new offsets. While \
      they apply, the number to be skipped changes with every batch, so stop them to skip.
      """)

  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions
  @OptionGroup var scope: OffsetScope

  @Option(
    parsing: .unconditional,
    help: "To this offset, the next one to be applied; needs --topic and --partition.")
  var toOffset: Int64?

  @Option(help: "To the first record of this time or later: \(Moment.help).")
  var toTime: Moment?

  @Flag(help: "To the first record that the log holds.")
  var toStart = false

  @Flag(help: "To the log's end.")
  var toEnd = false

  @Option(
    parsing: .unconditional,
    help: "How many records this skips, in all: it is refused unless this is the very number.")
  var skipRecords: Int64 = 0

  @Flag(
    help: """
      Also begin a new generation of notifications, whose snapshots win over every one published so \
      far: after a failover that lost commits. Only with --group notification.
      """)
  var newGeneration = false

  @Flag(help: "Change nothing; say what would be changed.")
  var dryRun = false

  @Flag(
    help: """
      Print one JSON object a partition (group, topic, partition, from, to, skipped, reapplied, ...) \
      and one with the totals.
      """)
  var json = false

  func validate() throws {
    guard scope.group != nil else { throw ValidationError("Say whose offsets: --group.") }
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
      throw Failure(.usage, "There is no partition \(scope.partition ?? 0) of \(topics[0]).")
    }
    let targets = try targets(spans, log)
    try connection.shortTransaction {
      let stored = try StoredOffset.lock(name, connection)
      let moves = spans.sorted { $0.key < $1.key }.map { place, span in
        OffsetMove(
          name, place, from: stored[place]?.nextOffset, to: targets[place] ?? span.lowerBound,
          log: Watermarks(low: span.lowerBound, high: span.upperBound))
      }
      let total = Total(
        partitions: moves.count, skipped: moves.reduce(0) { $0 + $1.skipped },
        reapplied: moves.reduce(0) { $0 + $1.reapplied }, dryRun: dryRun)
      for move in moves where json || total.skipped > 0 || dryRun || moves.count <= 100 {
        if json { printJSON(move) } else { Standard.output.line(move.text) }
      }
      if !dryRun || skipRecords > 0 { try refuseToSkip(total.skipped) }
      if !dryRun { try write(moves, connection) }
      if json { printJSON(total) } else { summarize(total) }
    }
  }

  private func write(_ moves: [OffsetMove], _ connection: Connection) throws {
    try OffsetMove.write(moves, connection)
    guard newGeneration else { return }
    try connection.query(
      """
      INSERT INTO notification_generations (generation)
      SELECT max(generation) + 1 FROM notification_generations
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
        "\(place) holds offsets \(span.lowerBound) up to \(span.upperBound); there is no "
          + "going on at \(offset). --to-start and --to-end are its ends.")
    }
    return spans.mapValues { _ in offset }
  }

  private func refuseToSkip(_ skipped: Int64) throws {
    guard skipped != skipRecords else { return }
    throw Failure(
      .found,
      skipped == 0
        ? "Nothing was changed: this skips no records, and not \(skipRecords)."
        : "Nothing was changed: this would skip \(skipped) records, which would never be applied"
          + (skipRecords == 0 ? "" : ", and not \(skipRecords)")
          + ". If that is what you want: --skip-records \(skipped)")
  }

  private func summarize(_ total: Total) {
    var text = "\(total.partitions) partitions " + (total.dryRun ? "would be moved" : "moved")
    if total.skipped > 0 { text += "; \(total.skipped) records skipped" }
    if total.reapplied > 0 {
      text += "; \(total.reapplied) records are applied again, which leaves the same rows"
    }
    Standard.output.line(text)
  }
}

/// The log of the cluster, whose missing topics are a person's mistake.
struct KafkaLogs {
  private let log: KafkaLog

  init(_ log: KafkaLog) { self.log = log }

  func spans(_ topics: [String]) throws -> [TopicPartition: Range<Int64>] {
    do {
      return try log.spans(of: topics)
    } catch RecordLogError.unknownTopic(let topic) {
      throw Failure(.unavailable, "The topic \(topic) does not exist. Run: magpie topics")
    }
  }

  func offsets(at milliseconds: Int64, in spans: [TopicPartition: Range<Int64>]) throws
    -> [TopicPartition: Int64]
  { try log.offsets(at: milliseconds, in: spans) }
}
