import Dispatch
import Foundation
import Kafka
import Synchronization
import TestSupport
import Testing

/// A broker per test, so that tests neither wait for nor disturb each other.
struct Fixture {
  let broker: EmbeddedBroker
  let topic = "t"

  init(partitions: Int = 1, brokers: Int = 1) throws {
    broker = try EmbeddedBroker(brokers: brokers)
    try broker.createTopic(topic, partitions: partitions)
  }

  /// The session timeout is so long that no session expires on a busy machine.
  func configuration(_ properties: [String: String] = [:]) -> ClientConfiguration {
    var quick = [
      "session.timeout.ms": "300000", "heartbeat.interval.ms": "100", "fetch.wait.max.ms": "10",
    ]
    quick.merge(properties) { $1 }
    return ClientConfiguration(
      bootstrap: broker.bootstrap, properties: quick, log: { _, _, _ in })
  }

  func producer(_ properties: [String: String] = [:]) throws -> Producer {
    // Discards logs. Without the consumer properties, which would only cause warnings.
    try Producer(
      configuration: ClientConfiguration(
        bootstrap: broker.bootstrap,
        properties: ["message.timeout.ms": "600000"].merging(properties) { $1 },
        log: { _, _, _ in }))
  }

  func consumer(
    group: String = "g", topics: [String]? = nil, _ properties: [String: String] = [:],
    onRebalance: @escaping (RebalanceEvent) throws -> [TopicPartition: Int64] = fromBeginning
  ) throws -> Consumer {
    try Consumer(
      configuration: configuration(properties), group: group, topics: topics ?? [topic],
      onRebalance: onRebalance)
  }

  func admin() throws -> Admin { try Admin(configuration: configuration()) }

  /// Produces `count` records with the keys "0", "1", … to the partition.
  func fill(_ count: Int, partition: Int32 = 0, bytes: Int = 0, _ producer: Producer) throws {
    try producer.send(
      (0..<count).map {
        OutgoingRecord(
          topic: topic, partition: partition, key: Array("\($0)".utf8),
          value: [UInt8](repeating: 7, count: bytes))
      })
  }
}

/// Starts every partition at offset 0.
func fromBeginning(_ event: RebalanceEvent) -> [TopicPartition: Int64] {
  guard case .assigned(let partitions) = event else { return [:] }
  return Dictionary(uniqueKeysWithValues: partitions.map { ($0, 0) })
}

extension Consumer {
  /// Polls until it has `count` records.
  func read(_ count: Int) throws -> [Record] {
    var records: [Record] = []
    try block(until: "\(count) records", pauses: false) {
      records += try poll(
        maxRecords: count - records.count, maxBytes: .max, timeoutMilliseconds: 50)
      return records.count >= count
    }
    return records
  }

  /// Polls until the condition holds, ignoring retriable errors; records an issue if it never does.
  func poll(
    until what: String, withinSeconds seconds: Double = 60, _ holds: (Consumer) throws -> Bool
  ) throws {
    let deadline = Date(timeIntervalSinceNow: seconds)
    while Date() < deadline {
      do {
        _ = try poll(maxRecords: 100, maxBytes: .max, timeoutMilliseconds: 50)
      } catch let error as ConsumerError where error.isRetriable {}
      if try holds(self) { return }
    }
    Issue.record("not within \(seconds) s: \(what); membership: \(membership)")
  }

  /// Polls until it throws and returns the error.
  func failure() -> (any Error)? {
    do {
      try block(until: "an error", pauses: false) {
        _ = try poll(maxRecords: 100, maxBytes: .max, timeoutMilliseconds: 50)
        return false
      }
      return nil
    } catch {
      return error
    }
  }
}

/// Collects the results of asynchronous sends.
final class Collected: Sendable {
  private let results = Mutex<[Result<Delivery, KafkaError>]>([])
  var all: [Result<Delivery, KafkaError>] { results.withLock { $0 } }
  func add(_ result: Result<Delivery, KafkaError>) { results.withLock { $0.append(result) } }
}

struct Stopped: Error, Equatable {}

/// Runs a program with the given input; returns its output and exit status.
func run(_ program: String, _ arguments: [String], input: String = "") throws -> (String, Int32) {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = [program] + arguments
  let stdin = Pipe()
  let stdout = Pipe()
  process.standardInput = stdin
  process.standardOutput = stdout
  process.standardError = FileHandle.nullDevice
  try process.start()
  stdin.fileHandleForWriting.write(Data(input.utf8))
  try stdin.fileHandleForWriting.close()
  let output = stdout.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  return (String(decoding: output, as: UTF8.self), process.terminationStatus)
}

/// Whether kcat is installed, for tests across processes and client libraries.
let hasKcat = (try? run("kcat", ["-V"]).1) == 0
