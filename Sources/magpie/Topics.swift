import ArgumentParser
import Kafka

struct Topics: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Create the topics that are missing and check the others.",
    discussion: """
      Refuses (exit 1) when a topic has another number of partitions than --partitions, because a \
      change would move keys and lose the order of their events. Without --partitions, topics that \
      are there keep their count and missing ones get 12.
      """)

  @OptionGroup var kafka: KafkaOptions

  @Option(help: "Partitions of each topic: 1 to 10000 (default: 12).")
  var partitions: Int?

  @Option(help: "Copies of each partition that is created (default: the broker's own default).")
  var replicationFactor: Int?

  @Flag(help: "Print one JSON object a topic: topic, partitions, created.")
  var json = false

  func validate() throws {
    try Self.validate(partitions: partitions, replicationFactor: replicationFactor)
  }

  static func validate(partitions: Int?, replicationFactor: Int?) throws {
    guard (1...10_000).contains(partitions ?? 1) else {
      throw ValidationError("--partitions is \(partitions ?? 0), but must be 1 to 10000.")
    }
    guard (1...100).contains(replicationFactor ?? 1) else {
      throw ValidationError("--replication-factor must be 1 to 100.")
    }
  }

  func run() throws {
    let admin = try Admin(configuration: kafka.configuration())
    let topics = TopicSet(
      prefix: kafka.prefix, partitions: partitions ?? 12,
      replicationFactor: replicationFactor ?? -1)
    for report in try topics.createOrCheck(admin, exact: partitions != nil) {
      if json {
        printJSON(report)
      } else {
        report.print()
      }
    }
  }
}
