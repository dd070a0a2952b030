import EmbeddedStack
import Events
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

/// TLS and SASL between librdkafka, as we configure it, and a TLS and SASL front end for a broker.
@Suite struct KafkaSecurityTests {
  private static let password = "s3cret, with=comma"

  /// How a client connects to a broker, and whether it should succeed.
  struct Case: CustomTestStringConvertible, Sendable {
    var name: String
    var properties: [String: String] = [:]
    /// Names in the server's certificate; nil: no TLS.
    var names: String? = "IP:127.0.0.1,DNS:localhost"
    var days = 2
    var trusts = true
    var wantsClientCertificate = false
    var clientCertificate: ClientCertificate?
    var mechanism: SASLServer.Mechanism?
    /// Expected parts of the error; empty: the client connects.
    var says: [String] = []

    var testDescription: String { name }
  }

  enum ClientCertificate { case right, wrong }

  private static let publishing = [
    "publish", "like", "--actor", "a", "--post", "p", "--owner", "o",
  ]
  private static let tls = ["security.protocol": "SSL"]
  private static func sasl(
    _ mechanism: SASLServer.Mechanism, _ password: String = password,
    _ security: String = "SASL_SSL"
  ) -> [String: String] {
    [
      "security.protocol": security, "sasl.mechanism": mechanism.rawValue,
      "sasl.username": "fanout", "sasl.password": password,
    ]
  }

  static let accepted = [
    Case(name: "TLS", properties: tls),
    Case(
      name: "TLS with a client certificate", properties: tls, wantsClientCertificate: true,
      clientCertificate: .right),
    Case(name: "SASL PLAIN within TLS", properties: sasl(.plain), mechanism: .plain),
    Case(name: "SASL SCRAM-SHA-256 within TLS", properties: sasl(.scram), mechanism: .scram),
    Case(
      name: "SASL SCRAM-SHA-256 without TLS", properties: sasl(.scram, password, "SASL_PLAINTEXT"),
      names: nil, mechanism: .scram),
  ]

  static let refused = [
    Case(
      name: "another authority", properties: tls, trusts: false,
      says: ["untrusted authority", "ssl.ca.location"]),
    Case(
      name: "another host's certificate", properties: tls, names: "DNS:elsewhere.example",
      says: ["issued for a different host", "the host in the Kafka address"]),
    Case(
      name: "an expired certificate", properties: tls, days: -1,
      says: ["has expired", "the certificate itself"]),
    Case(
      name: "no client certificate where one is wanted", properties: tls,
      wantsClientCertificate: true, says: ["client certificate", "ssl.certificate.location"]),
    Case(
      name: "a client certificate of another authority", properties: tls,
      wantsClientCertificate: true, clientCertificate: .wrong,
      says: ["client certificate", "ssl.certificate.location"]),
    Case(
      name: "a wrong password by PLAIN", properties: sasl(.plain, "wr0ng-guess"),
      mechanism: .plain, says: ["refuses the login", "sasl.password"]),
    Case(
      name: "a wrong password by SCRAM", properties: sasl(.scram, "wr0ng-guess"),
      mechanism: .scram, says: ["refuses the login", "sasl.password"]),
    Case(
      name: "a mechanism that the broker does not offer", properties: sasl(.plain),
      mechanism: .scram, says: ["refuses the login", "sasl.mechanism"]),
  ]

  /// A broker for one case, and the environment of the case's processes.
  private struct Stage {
    let embedded: EmbeddedBroker
    let broker: SecureBroker
    let certificates: [Certificates]
    let environment: [String: String]

    init(_ given: Case) throws {
      let certificates = try Certificates()
      let others = try Certificates()
      let prefix = TestBroker.topicPrefix()
      embedded = try EmbeddedBroker()
      for topic in Topic.allCases {
        try embedded.createTopic(topic.name(prefix: prefix), partitions: 1)
      }
      let pair = try given.names.map {
        try certificates.issue("server", names: $0, days: given.days)
      }
      broker = try SecureBroker(
        before: embedded.bootstrap,
        SecureBroker.Listener(
          tls: pair, clientAuthority: given.wantsClientCertificate ? certificates.authority : nil,
          login: given.mechanism.map {
            SASLServer(user: "fanout", password: password, mechanism: $0)
          }))
      var properties = given.properties
      if pair != nil {
        properties["ssl.ca.location"] = given.trusts ? certificates.authority : others.authority
      }
      if let kind = given.clientCertificate {
        let own = try (kind == .right ? certificates : others).issue("client", names: "DNS:worker")
        properties["ssl.certificate.location"] = own.certificate
        properties["ssl.key.location"] = own.key
      }
      var environment = [
        "MAGPIE_KAFKA_BOOTSTRAP": broker.bootstrap, "MAGPIE_TOPIC_PREFIX": prefix,
        "MAGPIE_HTTP_PORT": "0", "MAGPIE_DATABASE_URL": try TestDatabase.fresh(),
      ]
      if let password = properties.removeValue(forKey: "sasl.password") {
        let file = certificates.path("password")
        try (password + "\n").write(toFile: file, atomically: false, encoding: .utf8)
        environment["MAGPIE_KAFKA_PASSWORD_FILE"] = file
      }
      environment["MAGPIE_KAFKA_PROPERTIES"] = properties.map { "\($0.key)=\($0.value)" }
        .joined(separator: ",")
      self.environment = environment
      self.certificates = [certificates, others]
    }

    func close() {
      broker.close()
      embedded.close()
    }
  }

  @Test("worker and tool connect to a broker by", arguments: accepted)
  func accepts(_ given: Case) async throws {
    let stage = try Stage(given)
    defer { stage.close() }
    let published = try run("magpie", Self.publishing, stage.environment)
    #expect(published.exit == .exited(0), "\(published.output)")
    let worker = try Running("notification-worker", [], stage.environment)
    let database = try Connection(
      stage.environment["MAGPIE_DATABASE_URL"] ?? "", applicationName: "test")
    try await eventually("the like is applied") {
      try database.query("SELECT count(*) FROM likes").only.int(0) == 1
    }
    worker.child.signal(SIGTERM)
    #expect(worker.end() == .exited(0))
    #expect(stage.broker.refused.withLock { $0 } == 0)
    #expect(stage.broker.admitted.withLock { $0 } >= 3)
    #expect(!worker.output.contains(Self.password))
  }

  @Test(
    "worker and tool report cause and next step, and exit, when refused for", arguments: refused)
  func refuses(_ given: Case) async throws {
    let stage = try Stage(given)
    defer { stage.close() }
    let worker = try Running("fanout-worker", ["--log-level", "debug"], stage.environment)
    let lag = try run("magpie", ["lag"], stage.environment)
    #expect(lag.exit == .exited(69), "\(lag.output)")
    let published = try run("magpie", Self.publishing, stage.environment)
    #expect(published.exit == .exited(69), "\(published.output)")
    #expect(worker.end() == .exited(1), "\(worker.output)")
    for output in [lag.output, published.output, worker.output] {
      for words in given.says { #expect(output.contains(words), "\(output)") }
      #expect(!output.contains("wr0ng-guess") && !output.contains("s3cret"))
    }
    if given.mechanism == nil { #expect(stage.broker.admitted.withLock { $0 } == 0) }
  }

  @Test("refusals of one broker are counted and leave the other brokers' partitions readable")
  func oneRefuses() async throws {
    let certificates = try Certificates()
    let embedded = try EmbeddedBroker(brokers: 2)
    try embedded.createTopic("t", partitions: 2)
    let partitions = (0..<2).map { TopicPartition(topic: "t", partition: $0) }
    // The second leads a partition, so the consumer keeps trying it.
    for (index, partition) in partitions.enumerated() {
      try embedded.moveLeader(partition, to: 1 + index)
    }
    try embedded.moveCoordinator(group: "g", to: 1)
    let producer = try Producer(configuration: embedded.configuration)
    let broker = try SecureBroker(
      before: embedded.bootstrap,
      .init(tls: certificates.issue("server", names: "IP:127.0.0.1,DNS:localhost")),
      exceptions: [1: .init(tls: certificates.issue("expired", names: "IP:127.0.0.1", days: -1))])
    defer {
      broker.close()
      embedded.close()
    }
    let consumer = try Consumer(
      configuration: ClientConfiguration(
        bootstrap: broker.bootstrap,
        properties: [
          "security.protocol": "SSL", "ssl.ca.location": certificates.authority,
          "session.timeout.ms": "6000",
        ], log: { _, _, _ in }), group: "g", topics: ["t"]
    ) { event in
      guard case .assigned(let partitions) = event else { return [:] }
      return Dictionary(uniqueKeysWithValues: partitions.map { ($0, 0) })
    }
    var (refusals, count) = (0, 0)
    let limit = ContinuousClock.now + .seconds(hangLimitSeconds)
    while refusals == 0 || count == 0, .now < limit {
      try producer.send([OutgoingRecord(topic: "t", partition: 0, key: nil, value: [1])])
      do {
        count += try consumer.poll(maxRecords: 10, maxBytes: .max, timeoutMilliseconds: 50).count
      } catch let error as ConsumerError where error.isRetriable {}
      refusals += consumer.takeRefusals().counts.values.reduce(0, +)
    }
    #expect(refusals > 0)
    #expect(count > 0)
    consumer.close()
    producer.close()
  }
}
