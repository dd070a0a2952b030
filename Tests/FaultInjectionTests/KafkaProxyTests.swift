import FaultInjection
import Kafka
import TestSupport
import Testing

@Suite("A proxy in front of a Kafka cluster")
struct KafkaProxyTests {
  private let broker: EmbeddedBroker
  private let proxy: KafkaProxy
  private let places = (0..<3).map { TopicPartition(topic: "t", partition: $0) }

  init() throws {
    broker = try EmbeddedBroker(brokers: 3)
    try broker.createTopic("t", partitions: 3)
    proxy = try KafkaProxy(to: broker.bootstrap)
  }

  private func configuration(_ properties: [String: String] = [:]) -> ClientConfiguration {
    ClientConfiguration(
      bootstrap: proxy.bootstrap,
      properties: KafkaProxy.clientProperties.merging(["fetch.wait.max.ms": "10"]) { $1 }
        .merging(properties) { $1 }, log: { _, _, _ in })
  }

  /// Produces a record to each partition.
  private func fill(_ configuration: ClientConfiguration, times: Int = 1) throws {
    let producer = try Producer(configuration: configuration)
    defer { producer.close() }
    for _ in 0..<times {
      try producer.send(
        places.map {
          OutgoingRecord(topic: $0.topic, partition: $0.partition, key: [1], value: [2])
        })
    }
  }

  private func consumer(from offset: Int64 = 0) throws -> Consumer {
    try Consumer(configuration: configuration(), group: "g", topics: ["t"]) { event in
      guard case .assigned(let partitions) = event else { return [:] }
      return Dictionary(uniqueKeysWithValues: partitions.map { ($0, offset) })
    }
  }

  /// Polls until this many records have been returned.
  private func read(_ count: Int, _ consumer: Consumer) throws -> [Record] {
    var records: [Record] = []
    try block(until: "\(count) records", pauses: false) {
      records += try consumer.poll(maxRecords: 100, maxBytes: .max, timeoutMilliseconds: 50)
      return records.count >= count
    }
    return records
  }

  @Test(
    "clients log in and reach every broker only through the proxy, also after leaders have moved")
  func passes() throws {
    defer { proxy.close() }
    try fill(configuration())
    let consumer = try consumer()
    defer { consumer.close() }
    #expect(Set(try read(3, consumer).map(\.topicPartition)) == Set(places))
    let admin = try Admin(configuration: configuration())
    for place in places { #expect(try admin.watermarks(place) == Watermarks(low: 0, high: 1)) }
    for (index, place) in places.enumerated() {
      for one in 0..<3 { try broker.moveLeader(place, to: 1 + (index + one) % 3) }
    }
    try broker.moveCoordinator(group: "g", to: 1)
    try broker.moveCoordinator(group: "g", to: 2)
    try fill(configuration())
    #expect(try read(3, consumer).map(\.offset) == [1, 1, 1])
    for place in places { #expect(try admin.watermarks(place) == Watermarks(low: 0, high: 2)) }
  }

  @Test("refusals are counted while other brokers serve, and all records are readable afterwards")
  func refuses() throws {
    defer { proxy.close() }
    try fill(configuration())
    for admission in [KafkaProxy.Admission.refusesLogin, .closes] {
      proxy.change { $0.admissions = [0: admission, 1: admission, 2: admission] }
      let before = proxy.refusals
      #expect(throws: KafkaError.self) {
        try Admin(configuration: configuration()).watermarks(places[0])
      }
      #expect(proxy.refusals > before)
      proxy.change { $0.admissions = [1: admission] }
      // Regardless of the broker that it asks first.
      try block(until: "the other brokers respond") {
        (try? Admin(configuration: configuration()).topics(["t"])) == ["t": 3]
      }
    }
    proxy.change { $0.admissions = [:] }
    let consumer = try consumer()
    defer { consumer.close() }
    #expect(try read(3, consumer).count == 3)
  }

  @Test("a topic missing from metadata is unknown to clients")
  func unknownTopic() throws {
    defer { proxy.close() }
    try broker.createTopic("tt", partitions: 1)
    proxy.change { $0.unknownTopics = ["t"] }
    let admin = try Admin(configuration: configuration())
    #expect(try admin.topics(["t", "tt"]) == ["tt": 1])
    #expect(proxy.responsesRewritten > 0)
    proxy.change { $0.unknownTopics = [] }
    #expect(try admin.topics(["t", "tt"]) == ["t": 3, "tt": 1])
  }

  @Test("a topic that brokers do not list yet is found within the grace period")
  func newTopic() async throws {
    defer { proxy.close() }
    let (proxy, admin) = (proxy, try Admin(configuration: configuration()))
    proxy.change { $0.unknownTopics = ["t"] }
    #expect(try admin.topics(["t"], graceMilliseconds: 300) == [:])
    let before = proxy.responsesRewritten
    async let found = Task.detached {
      try admin.topics(["t"], graceMilliseconds: Int(hangLimitSeconds) * 1000)
    }.value
    try await eventually("the broker denied the topic") { proxy.responsesRewritten > before + 1 }
    proxy.change { $0.unknownTopics = [] }
    #expect(try await found == ["t": 3])
  }

  @Test("a moved log start is reported with the end offset, and fetching earlier offsets fails")
  func logStart() throws {
    defer { proxy.close() }
    try fill(configuration(), times: 5)
    proxy.change { $0.logStarts = ["t": [1: 4]] }
    let admin = try Admin(configuration: configuration())
    #expect(try admin.watermarks(places[1]) == Watermarks(low: 4, high: 5))
    #expect(try admin.watermarks(places[2]) == Watermarks(low: 0, high: 5))
    let consumer = try consumer()
    defer { consumer.close() }
    var error: (any Error)?
    try block(until: "the consumer throws", pauses: false) {
      do {
        _ = try consumer.poll(maxRecords: 100, maxBytes: .max, timeoutMilliseconds: 50)
      } catch let found {
        error = found
      }
      return error != nil
    }
    #expect(
      error as? ConsumerError == .offsetOutOfRange(places[1], offset: 0, low: 4, high: 5))
  }

  @Test("a batch with a wrong checksum is an error of its own, and is not skipped")
  func damaged() throws {
    defer { proxy.close() }
    try fill(configuration())
    proxy.change { $0.damagesRecords = true }
    let isWrongChecksum = { (error: any Error) -> Bool in
      guard case .unreadable(let cause)? = error as? ConsumerError else { return false }
      return cause.message.contains("t[") && cause.message.contains("CRC")
    }
    let consumer = try consumer()
    #expect {
      _ = try read(1, consumer)
    } throws: {
      isWrongChecksum($0)
    }
    consumer.close()
    let reader = try TopicReader(configuration: configuration(), topic: "t", from: [0: 0])
    defer { reader.close() }
    #expect {
      try block(until: "the reader throws", pauses: false) {
        try !reader.poll(maxRecords: 1, maxBytes: .max, timeoutMilliseconds: 50).records.isEmpty
      }
    } throws: {
      isWrongChecksum($0)
    }
  }

  @Test("clients switched to another cluster find its records at the same address")
  func another() throws {
    defer { proxy.close() }
    try fill(configuration())
    let other = try EmbeddedBroker(brokers: 3)
    try other.createTopic("t", partitions: 3)
    try fill(other.configuration, times: 2)
    let admin = try Admin(configuration: configuration())
    #expect(try admin.watermarks(places[0]).high == 1)
    proxy.switchCluster(to: other.bootstrap)
    try block(until: "the other's records") {
      (try? admin.watermarks(places[0]).high) == 2
    }
    proxy.switchCluster(to: broker.bootstrap)
    try block(until: "the former records") {
      (try? admin.watermarks(places[0]).high) == 1
    }
  }

  @Test("the cluster's size includes a broker that is down and holds replicas")
  func brokerCount() throws {
    defer { proxy.close() }
    try broker.createTopic("replicated", partitions: 3, replicationFactor: 3)
    let admin = try Admin(configuration: configuration())
    #expect(try admin.brokerCount() == 3)
    proxy.change { $0.unlistedBrokers = [2] }
    #expect(try admin.brokerCount() == 3)
    #expect(proxy.responsesRewritten > 0)
  }
}
