import ArgumentParser
import Events
import Kafka
import Postgres
import RecordLog

struct OffsetsShow: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show each partition's stored offset, owner epoch and lag.")

  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions
  @OptionGroup var scope: OffsetScope

  @Flag(
    help: """
      Print one JSON object per partition: group, topic, partition, nextOffset, ownerEpoch, movedAt, \
      lowWatermark, highWatermark, lag, lagSeconds.
      """)
  var json = false

  private struct Shown: Encodable {
    var group: String
    var topic: String
    var partition: Int32
    /// Absent until the partition is first assigned to a worker.
    var nextOffset: Int64?
    var ownerEpoch: Int64?
    var movedAt: String?
    var lowWatermark: Int64
    var highWatermark: Int64
    var lag: Int64
    /// The age of the first record that is not applied, if any.
    var lagSeconds: Double?
  }

  func run() throws {
    let configuration = try kafka.configuration()
    let connection = try database.connect()
    let groups = try scope.groups(prefix: kafka.prefix)
    let stored = try StoredOffset.read(connection)
    let admin = try Admin(configuration: configuration)
    for group in groups {
      let name = group.name(prefix: kafka.prefix)
      let topics = try scope.topics(of: group, prefix: kafka.prefix)
      let log = try admin.watermarks(topics: topics).filter { scope.includes($0.key) }
      let offsets = stored[name] ?? [:]
      let ages = try ages(
        log.compactMapValues { $0 }, offsets.mapValues(\.nextOffset), configuration)
      if !json { Console.output.line(Style.bold(name)) }
      for (place, log) in log.sorted(by: { $0.key < $1.key }) {
        let offset = offsets[place]
        show(
          Shown(
            group: name, topic: place.topic, partition: place.partition,
            nextOffset: offset?.nextOffset, ownerEpoch: offset?.epoch,
            movedAt: offset?.movedAt.rfc3339, lowWatermark: log.low, highWatermark: log.high,
            lag: max(0, log.high - (offset?.nextOffset ?? log.low)), lagSeconds: ages[place]))
      }
    }
  }

  /// The age in seconds of each partition's first record that is not applied.
  private func ages(
    _ log: [TopicPartition: Watermarks], _ offsets: [TopicPartition: Int64],
    _ configuration: ClientConfiguration
  ) throws -> [TopicPartition: Double] {
    var spans: [TopicPartition: Range<Int64>] = [:]
    for (place, log) in log {
      let next = max(offsets[place] ?? log.low, log.low)
      if next < log.high { spans[place] = next..<(next + 1) }
    }
    var ages: [TopicPartition: Double] = [:]
    let now = EventTime.now.microseconds / 1000
    try KafkaLog(configuration: configuration, stallSecondsMax: 10).read(spans, maxRecords: 100) {
      for record in $0.records where record.timestampMilliseconds >= 0 {
        ages[record.topicPartition] = Double(max(0, now - record.timestampMilliseconds)) / 1000
      }
    }
    return ages
  }

  private func show(_ shown: Shown) {
    if json { return printJSON(shown) }
    var text = "  \(escapedForDisplay(shown.topic))/\(shown.partition)"
    text += "  next \(shown.nextOffset.map(String.init) ?? "none")"
    text += "  epoch \(shown.ownerEpoch.map(String.init) ?? "none")"
    text += "  log \(shown.lowWatermark) to \(shown.highWatermark)  lag \(shown.lag)"
    if let seconds = shown.lagSeconds { text += "  \(Int(seconds)) s" }
    if let next = shown.nextOffset {
      if next < shown.lowWatermark {
        text += Style.red(
          "  \(shown.lowWatermark - next) records were deleted before they were applied")
      } else if next > shown.highWatermark {
        text += Style.red("  past the end offset: not the log that the worker read")
      }
    }
    Console.output.line(text)
  }
}
