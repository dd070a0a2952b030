import EmbeddedStack
import Events
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

/// A worker's memory when a producer sends as much as possible.
@Suite struct FloodTests {
  /// The maximum memory of a worker with one lane: a poll of 8 MiB and one record, its decoded form
  /// and statements, 32 MiB of prefetched records, one response of a broker; see docs/security.md.
  /// Manifests and systemd units set this limit.
  private static let mebibytesMax = 512

  /// The process's peak memory, in MiB.
  private func peak(_ worker: Running) throws -> Int {
    let status = try String(
      contentsOfFile: "/proc/\(worker.child.processID)/status", encoding: .utf8)
    let line = try #require(status.firstMatch(of: /VmHWM:\s+(\d+) kB/))
    return (Int(line.1) ?? 0) >> 10
  }

  private struct Flood: CustomTestStringConvertible {
    var testDescription: String
    var worker: String
    var partitions = 8
    var count: Int
    var codec = "none"
    var record: @Sendable (Int) -> (Topic, WireRecord)
    var areDeadLetters = false
  }

  /// The largest possible events, every field at its limit, of 50 authors. Encoded once: ``numbered(_:_:)`` makes
  /// events of them.
  private static let largestPosts: [(Topic, WireRecord)] = (0..<50).compactMap { author in
    let filler = { (count: Int) in String(repeating: "가", count: count / 3) }
    let event = Event(
      id: "e\(number)", source: filler(Limits.sourceBytes), time: .now,
      payload: .postPublished(
        .with {
          ($0.post, $0.author) = ("p\(number)", "a\(author)")
          ($0.title, $0.caption) = (filler(Limits.titleBytes), filler(Limits.captionBytes))
          $0.mentions = (0..<Limits.mentions).map { "m\($0)-" + filler(Limits.idBytes - 8) }
        }))
    return (try? EventCodec.encode(event, as: .json)).map { (.posts, $0) }
  }
  /// What stands for an event's number.
  private static let number = "########"

  private static func largestPost(_ number: Int) -> (Topic, WireRecord) {
    var (topic, record) = largestPosts[number % largestPosts.count]
    record.value = record.value.map { numbered($0, number) }
    record.headers = record.headers.map { header in
      Header(name: header.name, value: header.value.map { numbered($0, number) })
    }
    return (topic, record)
  }

  private static func numbered(_ bytes: [UInt8], _ number: Int) -> [UInt8] {
    let text = String(number)
    let digits = String(repeating: "0", count: Self.number.utf8.count - text.utf8.count) + text
    var data = Data(bytes)
    while let range = data.range(of: Data(Self.number.utf8)) {
      data.replaceSubrange(range, with: Data(digits.utf8))
    }
    return Array(data)
  }

  /// A value of nested brackets with the largest decoded size.
  private static let deepestJSON = Array(
    ("{\"x\":" + String(repeating: "[", count: Limits.valueBytes - 20)).utf8)

  /// An undecodable, highly compressible value that exceeds the size limit.
  private static let largestGarbage = [UInt8](repeating: 0x41, count: 4 << 20)

  private static func post(_ number: Int, value: [UInt8]) -> (Topic, WireRecord) {
    var (topic, record) = largestPost(number)
    record.value = value
    return (topic, record)
  }

  private static func keyOfOneMegabyte(_ number: Int) -> (Topic, WireRecord) {
    let key = Array("\(number)".utf8) + [UInt8](repeating: 0x41, count: 1_000_000)
    return (.posts, WireRecord(key: key, value: nil, headers: []))
  }

  /// Nearly as many headers as librdkafka reads, each in three bytes.
  private static func manyHeaders(_ number: Int) -> (Topic, WireRecord) {
    let headers = Array(repeating: Header(name: "", value: [0x78]), count: 99_000)
    return (
      .posts, WireRecord(key: Array("\(number)".utf8), value: [0x7B, 0x7D], headers: headers)
    )
  }

  private static let floods = [
    Flood(
      testDescription: "1600 posts with every field at its bound", worker: "fanout-worker",
      count: 1_600, codec: "zstd", record: largestPost),
    Flood(
      testDescription: "600 such posts, for those they mention", worker: "notification-worker",
      count: 600, codec: "zstd", record: largestPost),
    Flood(
      testDescription: "80 values of 1 MiB of open brackets", worker: "fanout-worker", count: 80,
      codec: "gzip", record: { post($0, value: deepestJSON) }, areDeadLetters: true),
    Flood(
      testDescription: "60 values of 4 MiB, compressed a thousandfold", worker: "fanout-worker",
      count: 60, codec: "gzip", record: { post($0, value: largestGarbage) }, areDeadLetters: true),
    Flood(
      testDescription: "80 keys of 1 MB", worker: "fanout-worker", count: 80, codec: "gzip",
      record: keyOfOneMegabyte, areDeadLetters: true),
    Flood(
      testDescription: "20 records of 99,000 headers", worker: "fanout-worker", count: 20,
      codec: "gzip", record: manyHeaders, areDeadLetters: true),
  ]

  @Test("a worker's memory stays bounded under a flood of", arguments: floods)
  private func bounded(_ flood: Flood) async throws {
    let broker = try EmbeddedBroker()
    defer { broker.close() }
    let prefix = TestBroker.topicPrefix()
    for topic in Topic.allCases {
      try broker.createTopic(topic.name(prefix: prefix), partitions: flood.partitions)
    }
    var configuration = broker.configuration
    configuration.properties = [
      "message.max.bytes": "8000000", "compression.type": flood.codec, "batch.size": "8000000",
      "linger.ms": "50",
    ]
    let producer = try Producer(configuration: configuration)
    var bytes = 0
    for start in stride(from: 0, to: flood.count, by: 20) {
      let records = (start..<start + 20).map { number in
        let (topic, wire) = flood.record(number)
        return OutgoingRecord(
          topic: topic.name(prefix: prefix), wire: wire)
      }
      bytes += records.reduce(0) { $0 + $1.byteCount }
      try producer.send(records)
    }
    producer.close()
    let url = try TestDatabase.fresh()
    let worker = try Running(
      flood.worker, ["--dead-letter-share-limit", "1", "--dead-letter-run-limit", "100000"],
      [
        "MAGPIE_KAFKA_BOOTSTRAP": broker.bootstrap, "MAGPIE_DATABASE_URL": url,
        "MAGPIE_TOPIC_PREFIX": prefix, "MAGPIE_HTTP_PORT": "0",
      ])
    let database = try Connection(url, applicationName: "test")
    try await eventually("the flood has been applied") {
      let applied = try database.query(
        "SELECT coalesce(sum(next_offset), 0)::bigint FROM consumer_offsets WHERE topic = $1",
        [.text(Topic.posts.name(prefix: prefix))]
      ).only.int8(0)
      #expect(worker.child.isRunning, "\(worker.output.suffix(2000))")
      return applied >= flood.count || !worker.child.isRunning
    }
    let letters = try database.query("SELECT count(*) FROM dead_letters").only.int(0)
    #expect(letters == (flood.areDeadLetters ? flood.count : 0))
    let most = try peak(worker)
    print("\(flood.testDescription): \(bytes >> 20) MiB of records, peak \(most) MiB resident")
    #expect(most < Self.mebibytesMax)
  }
}
