import Archive
import ArgumentParser
import Kafka

struct ArchiveAcceptGap: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "accept-gap",
    abstract: "Record that offsets were lost before they were archived, and continue archiving.",
    discussion: """
      Needed if Kafka deleted records before they were archived: `magpie archive run` then stops and \
      prints this command. The gap remains recorded: `show` and `verify` list it, and commands that \
      read the archive fail at it, except `magpie replay --rebuild` with --accept-missing-records.
      """)

  @OptionGroup var archive: ArchiveOptions

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
    try writer.acceptGap(TopicPartition(topic: topic, partition: partition), upTo: upTo)
    withExtendedLifetime(lock) {}
    if let gap = writer.manifest.gaps.last {
      Console.output.line(
        "recorded: \(escapedForTerminal(gap.topic))[\(gap.partition)] has no offsets \(gap.first) up "
          + "to \(gap.next)")
    }
  }
}
