import Archive
import ArgumentParser
import Events
import Kafka
import RecordLog

struct ArchiveAcceptGap: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "accept-gap",
    abstract: "Record that offsets were lost before they were archived, and continue archiving.",
    discussion: """
      Needed if Kafka deleted records before they were archived: `magpie archive run` then stops and \
      prints this command. The gap remains recorded: `show` and `verify` list it, and commands that \
      read the archive fail at it, except `magpie replay` with --accept-missing-records. Refuses a gap \
      of records that Kafka still holds.
      """)

  @OptionGroup var archive: ArchiveOptions
  @OptionGroup var kafka: KafkaOptions

  @Option(help: "The topic's full name.")
  var topic: String

  @Option(parsing: .unconditional, help: "The partition.")
  var partition: Int32

  @Option(parsing: .unconditional, help: "The first offset after the gap.")
  var upTo: Int64

  func run() throws {
    let storage = try archive.open()
    _ = try Manifest(of: storage)
    let lock = try storage.lockForWriting()
    let writer = try ArchiveWriter(storage)
    let place = TopicPartition(topic: topic, partition: partition)
    try refuseHeldRecords(of: place, archivedUpTo: writer.nextOffset(of: place))
    try writer.acceptGap(place, upTo: upTo)
    withExtendedLifetime(lock) {}
    if let gap = writer.manifest.gaps.last {
      Console.output.line(
        "recorded: \(escapedForDisplay(gap.topic))[\(gap.partition)] has no offsets \(gap.first) up "
          + "to \(gap.next)")
    }
  }

  /// - Throws: `Failure` if Kafka still holds a record of the gap, or if there is none.
  private func refuseHeldRecords(of place: TopicPartition, archivedUpTo end: Int64?) throws {
    guard let end else { return }
    let log = KafkaLogs(try KafkaLog(configuration: kafka.configuration()))
    guard let held = try log.spans([topic])[place] else {
      throw Failure(.usage, "\(topic) has no partition \(partition) in Kafka.")
    }
    guard upTo > end, upTo <= held.lowerBound else {
      throw Failure(
        .usage,
        "\(place): the archive ends at offset \(end) and Kafka's log begins at \(held.lowerBound), so "
          + (held.lowerBound > end
            ? "only the records in between are lost: pass --up-to \(held.lowerBound)."
            : "no records are lost: run `magpie archive run`."))
    }
  }
}
