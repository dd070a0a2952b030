import ArgumentParser
import Kafka

struct Topics: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Create the missing topics and check the others.",
    discussion: """
      Refuses (exit 1) when a topic has another number of partitions than --partitions, because a \
      change would move keys and lose the order of their events. Without --partitions, existing \
      topics keep their count, and new ones get as many as the others have, or 12. Topics with \
      unequal counts are named (exit 1).

      New topics get three replicas and min.insync.replicas=2 where the cluster has three \
      brokers or more, and one replica otherwise. docs/operations/topics.md has more.
      """)

  @OptionGroup var kafka: KafkaOptions

  @Option(parsing: .unconditional, help: "Partitions of each topic: 1 to 10000 (default: 12).")
  var partitions: Int?

  @Option(
    parsing: .unconditional,
    help: "Replicas of each new partition (default: 3 on three brokers or more, else 1).")
  var replicationFactor: Int?

  @Option(
    help: """
      How long new topics keep their records: \(Retention.help) (default: the \
      cluster's own). The topics that workers publish, and devices, keep them for a week at most. Rebuilding tables needs all records, or an archive of them.
      """)
  var retention: Retention?

  @Flag(help: "Create nothing; print what would be created.")
  var dryRun = false

  @Flag(
    help: """
      Print one JSON object per topic: topic, partitions, created, unequal, and of new ones \
      replicationFactor and configuration.
      """)
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
      prefix: kafka.prefix, partitions: partitions, replicationFactor: replicationFactor,
      retention: retention)
    try TopicSet.print(topics.createOrCheck(admin, dryRun: dryRun), json: json)
  }
}
