import CRDKafka
import Testing

@testable import Kafka

@Suite("A client's librdkafka properties")
struct ClientConfigurationTests {
  /// The value that librdkafka would use; nil if it does not know the property.
  private func value(
    of name: String, _ role: ClientConfiguration.Role, _ properties: [String: String] = [:]
  ) throws -> String? {
    let configuration = ClientConfiguration(bootstrap: "localhost:1", properties: properties)
    let conf = try configuration.makeConf(role)
    defer { rd_kafka_conf_destroy(conf) }
    var value = [CChar](repeating: 0, count: 512)
    var size = value.count
    guard rd_kafka_conf_get(conf, name, &value, &size) == RD_KAFKA_CONF_OK else { return nil }
    return text(of: value)
  }

  @Test("another name of a property overrides the default, but not what is fixed")
  func aliases() throws {
    let properties = ["delivery.timeout.ms": "1234", "request.required.acks": "1"]
    #expect(try value(of: "message.timeout.ms", .producer, properties) == "1234")
    #expect(
      try value(of: "acks", .producer, properties)
        == value(of: "acks", .producer, ["acks": "all"]))
  }

  @Test("few records are prefetched if librdkafka checks a full queue often")
  func prefetching() throws {
    let consumer = ClientConfiguration.Role.consumer(group: "g")
    let checksOften = try value(of: "fetch.queue.backoff.ms", consumer) == "10"
    #expect(
      try value(of: "queued.min.messages", consumer) == (checksOften ? "128" : "100000"))
    #expect(try value(of: "queued.min.messages", consumer, ["queued.min.messages": "7"]) == "7")
  }
}
