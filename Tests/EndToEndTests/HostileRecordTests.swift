import Events
import Kafka
import Postgres
import TestSupport
import Testing

/// Malformed records among valid ones, consumed by worker processes.
@Suite struct HostileRecordTests {
  /// A record and the expected reason code of its dead letter; nil for a valid record.
  private struct Sample {
    var code: String?
    var record: OutgoingRecord
  }

  @Test(
    "ten kinds of malformed records become dead letters with a reason; valid ones around them are applied"
  )
  func malformed() async throws {
    let stack = try Stack(partitions: 1)
    defer { stack.stop() }
    for worker in Stack.workers { try stack.start(worker) }
    let samples = try samples(topic: Topic.likes.name(prefix: stack.prefix))
    let producer = try Producer(
      configuration: ClientConfiguration(
        bootstrap: TestBroker.shared.bootstrap, properties: ["message.max.bytes": "4000000"]))
    try producer.send(samples.map(\.record))
    producer.close()

    let verified = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(verified.exit == .exited(0), "\(verified.output)\n\(stack.logTails)")
    // An external broker may have spread the keys over several partitions.
    let letters = try stack.connection().query(
      "SELECT reason_code, reason FROM dead_letters ORDER BY 1")
    #expect(try letters.map { try $0.text(0) } == samples.compactMap(\.code).sorted())
    for letter in letters {
      let reason = try letter.text(1)
      #expect(reason.count > 20, "too short to explain: \(reason)")
    }
    let likes = try stack.connection().query("SELECT count(*) FROM likes WHERE active")
    #expect(try likes.only.int(0) == samples.count { $0.code == nil })
  }

  private func samples(topic: String) throws -> [Sample] {
    func good(_ actor: String) throws -> OutgoingRecord {
      let event = Event(
        id: "good-\(actor)", source: "test", time: EventTime.now,
        payload: .like(actor, "post", of: "owner"))
      return try OutgoingRecord(topic: topic, wire: EventCodec.encode(event, as: .json))
    }
    func bad(_ change: (inout OutgoingRecord) -> Void) throws -> OutgoingRecord {
      var record = try good("bad")
      change(&record)
      return record
    }
    func header(_ name: String, _ value: String) -> (inout OutgoingRecord) -> Void {
      { record in
        for index in record.headers.indices where record.headers[index].name == name {
          record.headers[index].value = Array(value.utf8)
        }
      }
    }
    let malformed: [(String, OutgoingRecord)] = [
      ("missing-key", try bad { $0.key = nil }),
      ("wrong-key", try bad { $0.key = Array("somebody else".utf8) }),
      ("bad-json", try bad { $0.value = Array("{\"actor\": ".utf8) }),
      (
        "bad-protobuf",
        try bad { record in
          header("content-type", "application/protobuf")(&record)
          record.value = [0xFF, 0xFF, 0xFF]
        }
      ),
      ("unknown-type", try bad(header("ce_type", "magpie.like.adored.v1"))),
      ("value-too-large", try bad { $0.value = [UInt8](repeating: 0x20, count: 1_500_000) }),
      (
        "bad-json",
        try bad {
          $0.value =
            Array("{\"actor\":\"".utf8) + [0xC3, 0x28]
            + Array("\",\"post\":\"p\",\"postOwner\":\"owner\"}".utf8)
        }
      ),
      ("time-too-early", try bad(header("ce_time", "1970-01-01T00:00:00Z"))),
      (
        "bad-id",
        try bad {
          $0.value = Array(#"{"actor":"a\u0000b","post":"p","postOwner":"owner"}"#.utf8)
        }
      ),
      (
        "field-too-long",
        try bad {
          $0.value = Array(
            (#"{"actor":""# + String(repeating: "x", count: 129)
              + #"","post":"p","postOwner":"owner"}"#).utf8)
        }
      ),
    ]
    var samples: [Sample] = []
    for (index, (code, record)) in malformed.enumerated() {
      samples.append(Sample(code: nil, record: try good("actor-\(index)")))
      samples.append(Sample(code: code, record: record))
    }
    samples.append(Sample(code: nil, record: try good("last")))
    return samples
  }
}
