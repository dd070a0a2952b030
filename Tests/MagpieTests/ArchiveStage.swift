import Archive
import EmbeddedStack
import Events
import Foundation
import Kafka
import RecordLog
import Synchronization
import TestSupport

/// A broker with all topics, a directory, and `magpie archive` as real processes.
final class ArchiveStage {
  let broker: EmbeddedBroker
  let producer: Producer
  let directory: String
  let prefix = "magpie."
  let topics: [String]
  let magpie: Tool

  init(directory: String? = nil) throws {
    broker = try EmbeddedBroker()
    topics = Topic.allCases.filter { !$0.isSecret }.map { $0.name(prefix: "magpie.") }
    let secrets = Topic.allCases.filter(\.isSecret).map { $0.name(prefix: "magpie.") }
    for topic in topics + secrets { try broker.createTopic(topic, partitions: 2) }
    producer = try Producer(
      configuration: ClientConfiguration(
        bootstrap: broker.bootstrap, properties: ["compression.type": "none"],
        log: { _, _, _ in }))
    // They are not to be archived.
    try producer.send(secrets.map { OutgoingRecord(topic: $0, key: nil, value: [1]) })
    self.directory = directory ?? NSTemporaryDirectory() + "archive-\(UUID().uuidString.prefix(13))"
    magpie = Tool(environment: [
      "MAGPIE_KAFKA_BOOTSTRAP": broker.bootstrap, "MAGPIE_ARCHIVE_DIR": self.directory,
    ])
  }

  func close() {
    producer.close(withinMilliseconds: 1_000)
    broker.close()
    try? FileManager.default.removeItem(atPath: directory)
  }

  var storage: DirectoryStorage { get throws { try DirectoryStorage(directory) } }

  var log: String {
    (try? String(contentsOfFile: directory + ".log", encoding: .utf8)) ?? ""
  }

  /// Starts `magpie archive run` with short-lived segments.
  func start(_ arguments: String...) throws -> ChildProcess {
    try ChildProcess(
      builtExecutable("magpie"),
      ["archive", "run", "--http-port", "0", "--segment-seconds", "0.1"] + arguments,
      environment: magpie.environment.mapValues { $0 }, output: .file(directory + ".log"))
  }

  var kafka: KafkaLog {
    get throws {
      try KafkaLog(
        configuration: ClientConfiguration(bootstrap: broker.bootstrap, log: { _, _, _ in }))
    }
  }

  func generation() -> Int64 { (try? Manifest(of: storage).generation) ?? 0 }

  /// Whether the archive reaches the end of Kafka's log.
  func isCaughtUp() throws -> Bool {
    let ends = try kafka.spans(of: topics).mapValues(\.upperBound)
    // The archive may not exist yet.
    return (try? ArchiveLog(storage).spans(of: topics).mapValues(\.upperBound)) == ends
  }

  func waitUntilCaughtUp(_ process: ChildProcess) async throws {
    try await eventually("the archive is caught up") {
      if let exit = process.exit { throw StackError("magpie archive run ended (\(exit)): \(log)") }
      return try isCaughtUp()
    }
  }

  /// Produces records to random topics and partitions.
  func produce(_ count: Int, _ random: inout SeededGenerator) throws {
    try producer.send(
      (0..<count).map { _ in
        let value = (0..<Int.random(in: 0...200, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }
        let keys: [[UInt8]?] = [nil, [], Array("somebody".utf8)]
        return OutgoingRecord(
          topic: topics.randomElement(using: &random) ?? topics[0],
          partition: Int32.random(in: 0..<2, using: &random),
          key: keys.randomElement(using: &random) ?? nil,
          value: value.isEmpty ? nil : value,
          headers: [Header(name: "n", value: nil), Header("ce_id", "\(value.count)")])
      })
  }

  /// All records of a log by partition, in order.
  static func everything(_ log: some RecordLog, _ topics: [String]) throws
    -> [TopicPartition: [Record]]
  {
    var result: [TopicPartition: [Record]] = [:]
    try log.read(log.spans(of: topics), maxRecords: 1_000) { batch in
      for record in batch.records { result[record.topicPartition, default: []].append(record) }
    }
    return result
  }
}
