import ArgumentParser
import Events
import Foundation
import Kafka
import Postgres
import RecordLog

struct OffsetsImport: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Set the workers' offsets in this cluster from an export of another.",
    discussion: """
      --by offset is for a cluster that holds the same records at the same offsets. It compares the \
      record before each offset and changes nothing if one of them differs. --by time is for every \
      other copy: it sets each partition to the time of the last applied record, minus the margin. If \
      the number of partitions differs, all partitions of a topic start at the earliest of these \
      times. So records may be applied again, which leaves the same rows, and no record of that time \
      or later is skipped. Stop the workers first: they would use the new offsets in the old cluster.
      """)

  enum Method: String, CaseIterable, ExpressibleByArgument {
    case offset, time
  }

  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions

  @Argument(help: "The output of `magpie offsets export`; - is standard input.")
  var file: String

  @Option(help: "How to find the offsets: offset or time.")
  var by: Method

  @Option(
    parsing: .unconditional, help: "With --by time: the margin in seconds, 0 to 31536000.")
  var marginSeconds: Int64 = 3600

  @Flag(help: "Change nothing; print what would change.")
  var dryRun = false

  @Flag(help: "Print one JSON object per partition.")
  var json = false

  func validate() throws {
    guard (0...31_536_000).contains(marginSeconds) else {
      throw ValidationError("--margin-seconds must be 0 to 31536000.")
    }
  }

  func run() throws {
    let exported = try read()
    let connection = try database.connect()
    let log = try KafkaLog(configuration: kafka.configuration())
    let known = Set(ConsumerGroup.allCases.map { $0.name(prefix: kafka.prefix) })
    if let other = exported.first(where: { !known.contains($0.group) }) {
      throw Failure(
        .usage,
        "\(other.group) is not a consumer group with the prefix \(kafka.prefix); set --topic-prefix."
      )
    }
    let held = try KafkaLogs(log).spans(Set(exported.map(\.topic)).sorted())
    try refuseWhileWorkersRun(Set(exported.map(\.group)), connection)
    let targets =
      try by == .offset ? sameOffsets(exported, held, log) : earlierTimes(exported, held, log)
    let moves = try connection.shortTransaction {
      var all: [OffsetMove] = []
      for (group, targets) in targets.sorted(by: { $0.key < $1.key }) {
        let stored = try StoredOffset.lock(group, connection)
        let moves = targets.sorted { $0.key < $1.key }.map { place, target in
          OffsetMove(
            group, place, from: stored[place]?.nextOffset, to: target,
            log: Watermarks(
              low: held[place]?.lowerBound ?? 0, high: held[place]?.upperBound ?? 0))
        }
        if !dryRun { try OffsetMove.write(moves, connection) }
        all += moves
      }
      return all
    }
    // Not before the commit.
    for move in moves {
      if json { printJSON(move) } else { Console.output.line(place(move)) }
    }
  }

  private typealias Targets = [String: [TopicPartition: Int64]]

  /// Without the numbers of skipped and reapplied records, which have no meaning between two logs.
  private func place(_ move: OffsetMove) -> String {
    "\(escapedForDisplay(move.group))  \(escapedForDisplay(move.topic))/\(move.partition)"
      + "  continues at \(move.to)  (log \(move.lowWatermark) to \(move.highWatermark))"
  }

  /// The exported offsets, after checking that the record before each is the last one applied.
  private func sameOffsets(
    _ exported: [ExportedOffset], _ held: [TopicPartition: Range<Int64>], _ log: KafkaLog
  ) throws -> Targets {
    var targets: Targets = [:]
    for (group, exported) in Dictionary(grouping: exported, by: \.group) {
      var next: [TopicPartition: Int64] = [:]
      for offset in exported {
        let place = TopicPartition(topic: offset.topic, partition: offset.partition)
        guard let span = held[place], span.lowerBound <= offset.nextOffset,
          offset.nextOffset <= span.upperBound
        else {
          throw notTheSame(
            place,
            "does not contain offset \(offset.nextOffset): it holds "
              + (held[place].map { "\($0.lowerBound) up to \($0.upperBound)" } ?? "nothing"))
        }
        next[place] = offset.nextOffset
      }
      let last = try log.lastRecords(before: next, in: held)
      for offset in exported {
        let place = TopicPartition(topic: offset.topic, partition: offset.partition)
        let found = last[place]
        guard offset.last == found.map(ExportedOffset.Identity.init),
          offset.lastOffset == found?.offset
        else { throw notTheSame(place, "holds a different record before \(offset.nextOffset)") }
        // Without records to compare, the offset is certain only at the start of the log.
        guard found != nil || offset.nextOffset == held[place]?.lowerBound else {
          throw notTheSame(place, "holds no record before \(offset.nextOffset) to compare")
        }
      }
      targets[group] = next
    }
    return targets
  }

  private func notTheSame(_ place: TopicPartition, _ what: String) -> Failure {
    Failure(
      .found,
      "Nothing was changed: \(place) \(what). The logs are not the same; "
        + "use --by time.")
  }

  /// The offsets of the time of the last applied record, minus the margin.
  private func earlierTimes(
    _ exported: [ExportedOffset], _ held: [TopicPartition: Range<Int64>], _ log: KafkaLog
  ) throws -> Targets {
    var targets: Targets = [:]
    for (group, exported) in Dictionary(grouping: exported, by: \.group) {
      for (topic, exported) in Dictionary(grouping: exported, by: \.topic) {
        let spans = held.filter { $0.key.topic == topic }
        let isSameCount = Set(spans.keys.map(\.partition)) == Set(exported.map(\.partition))
        guard spans.count >= exported.count || !ownsWhatIsDue(topic) else {
          throw Failure(
            .found,
            "Nothing was changed: \(topic) has \(spans.count) partitions and had \(exported.count). What is due "
              + "in the others would never be sent; create the topic with as many.")
        }
        // A partition whose last record is unknown starts at the beginning. An empty partition does not
        // move the others of its topic back.
        let times = exported.map { offset in
          (offset.partition, offset.last?.timestamp ?? (offset.highWatermark == 0 ? .max : -1))
        }
        for (place, span) in spans {
          let time =
            (isSameCount ? times.first { $0.0 == place.partition }?.1 : times.map(\.1).min()) ?? -1
          let start = time == .max || time < 0 ? -1 : time - marginSeconds * 1000
          targets[group, default: [:]][place] =
            start < 0 ? span.lowerBound : try log.offsets(at: start, in: [place: span])[place]
        }
      }
    }
    return targets
  }

  /// Whether reminders or pushes are due in the topic's partitions: see `Handler.due`.
  private func ownsWhatIsDue(_ topic: String) -> Bool {
    [.reminders, .alarmChanges, .devices].contains(Topic(name: topic, prefix: kafka.prefix))
  }

  /// Finds workers by their database sessions, which are named after their consumer groups.
  private func refuseWhileWorkersRun(_ groups: Set<String>, _ connection: Connection) throws {
    let running = try connection.query(
      """
      SELECT DISTINCT application_name FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = ANY ($1)
      """, [.textArray(groups.sorted())]
    ).map { try $0.text(0) }
    guard running.isEmpty || dryRun else {
      throw Failure(
        .found,
        "Nothing was changed: workers of \(running.sorted().joined(separator: ", ")) are "
          + "connected. Stop them first; they read the old cluster.")
    }
  }

  private func read() throws -> [ExportedOffset] {
    var result: [ExportedOffset] = []
    var lines = try LineReader(path: file, maximumBytes: 64 << 10)
    while let line = try lines.next() {
      guard case .text(let text) = line else {
        throw Failure(.usage, "\(file):\(lines.number) is unreadable.")
      }
      guard !text.allSatisfy(\.isWhitespace) else { continue }
      let notAnExport = "\(file):\(lines.number) is not output of `magpie offsets export`: "
      let offset: ExportedOffset
      do {
        offset = try JSONDecoder().decode(ExportedOffset.self, from: Data(text.utf8))
      } catch {
        throw Failure(.usage, notAnExport + "\(error)")
      }
      guard offset.nextOffset >= 0, offset.partition >= 0 else {
        throw Failure(.usage, notAnExport + "nextOffset or partition is negative.")
      }
      result.append(offset)
    }
    guard !result.isEmpty else { throw Failure(.usage, "\(file) contains no offsets.") }
    return result
  }
}
