import ArgumentParser
import Events
import Kafka
import Postgres
import RecordLog

struct OffsetsExport: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract:
      "Write the offsets to a file, with the record before each, for use in another cluster.",
    discussion: """
      Writes one JSON object per partition. Stop the workers first: records that they apply after the \
      export would be applied again. docs/operations/move-to-a-new-kafka-cluster.md lists all steps.
      """)

  @OptionGroup var kafka: KafkaOptions
  @OptionGroup var database: DatabaseOptions
  @OptionGroup var scope: OffsetScope

  @Option(help: "The file; - is standard output.")
  var output = "-"

  func run() throws {
    let configuration = try kafka.configuration()
    let connection = try database.connect()
    let stored = try StoredOffset.read(connection)
    let log = try KafkaLog(configuration: configuration)
    let file = try LineWriter(path: output)
    for group in try scope.groups(prefix: kafka.prefix) {
      let name = group.name(prefix: kafka.prefix)
      let held = try KafkaLogs(log).spans(scope.topics(of: group, prefix: kafka.prefix))
        .filter { scope.includes($0.key) }
      let next = (stored[name] ?? [:]).mapValues(\.nextOffset).filter { held[$0.key] != nil }
      let last = try log.lastRecords(before: next, in: held)
      for (place, nextOffset) in next.sorted(by: { $0.key < $1.key }) {
        guard let span = held[place] else { continue }
        try file.write(
          jsonLine(
            ExportedOffset(
              group: name, topic: place.topic, partition: place.partition,
              nextOffset: nextOffset, lowWatermark: span.lowerBound,
              highWatermark: span.upperBound, lastOffset: last[place]?.offset,
              last: last[place].map(ExportedOffset.Identity.init))))
      }
    }
    try file.close()
  }
}
