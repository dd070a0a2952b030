import AlarmText
import Alarms
import Events
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Lanes
@testable import Service

/// Generated and mutated input for every decoder of untrusted data. Invalid input must throw the
/// decoder's own error: no crash, no hang, no unbounded memory. ArchiveTests cover archive
/// segments, AlarmTextTests catalog messages.
@Suite(.serialized) struct DecoderFuzzTests {
  private static let now = EventTime(microseconds: 1_790_000_000_000_000)

  private static let events: [Event] = [
    Payload.post("p", by: "a", title: "title", mentions: ["m", "n"]),
    .like("a", "p", of: "o"),
    .message("m", from: "s", to: "r", "안녕 \u{1F600}"),
    .profile("u", nickname: "nick", locale: "ko"),
    .mute("u", "like"),
  ].map {
    Event(
      id: "id", source: "source", time: EventTime(microseconds: 1_780_000_000_000_000), payload: $0)
  }

  /// A record split from mutated bytes, so that each part may be any bytes.
  @Test("records: headers, keys, Protobuf and JSON", arguments: [ContentType.protobuf, .json])
  func records(type: ContentType) throws {
    let wires = try Self.events.map { (try EventCodec.encode($0, as: type), $0.topic) }
    let counts = try Fuzzing.run("records (\(type))", wires.map { $0.0.value ?? [] }) {
      bytes, random in
      let (wire, topic) = wires[Int.random(in: 0..<wires.count, using: &random)]
      var record = wire
      // Usually the value; sometimes the headers and the key together.
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        let index = Int.random(in: 0..<record.headers.count, using: &random)
        record.headers[index].value = Fuzzing.mutated(
          record.headers[index].value ?? [], &random)
      case 1:
        let index = Int.random(in: 0..<record.headers.count, using: &random)
        let name = Fuzzing.mutated(Array(record.headers[index].name.utf8), &random)
        record.headers[index].name = String(decoding: name, as: UTF8.self)
      case 2: record.key = Fuzzing.mutated(record.key ?? [], &random)
      default: record.value = bytes
      }
      do {
        let event = try EventCodec.decode(record, topic: topic, now: Self.now)
        // Accepted records can be encoded again with the same meaning.
        let again = try EventCodec.decode(
          EventCodec.encode(event, as: type), topic: topic, now: Self.now)
        #expect(again == event)
        return record.value == bytes
      } catch let error as EventError {
        #expect(error.message.utf8.count < 2_000)
        // The anatomy shown to operators is built from the same bytes.
        _ = RecordAnatomy(record)
        return false
      }
    }
    #expect(counts.refused > 0)
  }

  @Test("lines of events, as magpie publish reads them")
  func lines() throws {
    let corpus = try Self.events.map { Array(try StructuredEvent.encode($0).utf8) }
    let counts = try Fuzzing.run("lines", corpus) { bytes, _ in
      do {
        let event = try StructuredEvent.decode(
          String(decoding: bytes, as: UTF8.self), now: Self.now)
        let again = try StructuredEvent.decode(StructuredEvent.encode(event), now: Self.now)
        #expect(again == event)
        return true
      } catch is EventError { return false }
    }
    #expect(counts.refused > 0)
  }

  @Test("times and trace contexts")
  func headers() throws {
    let corpus = [
      "2026-11-21T00:00:00.123456Z", "2026-11-21t23:59:60+09:00",
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ].map { Array($0.utf8) }
    _ = try Fuzzing.run("times and traces", corpus) { bytes, _ in
      let text = String(decoding: bytes, as: UTF8.self)
      let trace = TraceContext(text)
      if let trace { #expect(TraceContext(trace.description) == trace) }
      guard let time = try? EventTime(rfc3339: text) else { return trace != nil }
      let again = try EventTime(rfc3339: time.rfc3339)
      #expect(again == time)
      return true
    }
  }

  @Test("database URLs, with errors that never show the password")
  func databaseURLs() throws {
    let corpus = [
      "postgresql://user:xyzzySentinel7@host:5432/db?sslmode=verify-full&sslrootcert=/a",
      "host=h port=5432 dbname=d user=u password='xyzzySentinel7' options='-c x=y'",
      "postgres://u:xyzzySentinel7@[::1]:1,h2:2/db?target_session_attrs=any",
    ].map { Array($0.utf8) }
    let counts = try Fuzzing.run("database URLs", corpus) { bytes, _ in
      let text = String(decoding: bytes, as: UTF8.self)
      do {
        let info = try ConnectionInfo(text)
        // The connection string has the same meaning.
        let again = try ConnectionInfo(info.connectionString)
        #expect(again.description == info.description)
        return text.contains("xyzzySentinel7")
      } catch let error as PostgresError {
        #expect(error.code == .usage)
        #expect(!error.description.contains("xyzzySentinel7"), "\(text.debugDescription)")
        return false
      }
    }
    #expect(counts.refused > 0)
  }

  @Test("Kafka properties from the environment and files, with errors that never show secrets")
  func properties() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "fuzz-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appending(path: "properties")
    let corpus = [
      "security.protocol=SASL_SSL\nsasl.password=xyzzySentinel7\n# comment\n\nssl.ca.location=/a",
      "debug=all,sasl.username=u,sasl.password=xyzzySentinel7",
    ].map { Array($0.utf8) }
    _ = try Fuzzing.run("Kafka properties", corpus) { bytes, random in
      try Data(bytes).write(to: file)
      let text = String(decoding: bytes, as: UTF8.self)
      let listed = Bool.random(using: &random)
      let settings = ConnectionSettings {
        [
          "kafkaPropertiesFile": listed ? "" : file.path, "kafkaProperties": listed ? text : "",
          "kafkaPasswordFile": listed ? file.path : "",
        ][$0]
      }
      do {
        return try !settings.kafkaProperties(flags: []).isEmpty
      } catch {
        #expect(!"\(error)".contains("xyzzySentinel7"), "\(text.debugDescription)")
        return false
      }
    }
  }

  @Test("configuration files")
  func configuration() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "fuzz-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appending(path: "magpie.json")
    let whole = Array(
      #"{"magpie":{"kafkaBootstrap":"h:1","databaseUrl":"host=h","httpPort":9,"lanes":"2","x":[1]}}"#
        .utf8)
    var random = SeededGenerator(seed: Fuzzing.seed)
    let end = ContinuousClock.now + .seconds(Fuzzing.seconds)
    var (accepted, refused) = (0, 0)
    while ContinuousClock.now < end || accepted + refused < 50 {
      // The first one unchanged.
      let bytes = accepted == 0 ? whole : Fuzzing.mutated(whole, &random)
      try Data(bytes).write(to: file)
      let options = try ProcessOptions.parse(["--config", file.path])
      do {
        _ = try await options.settings(defaultHTTPPort: 1)
        accepted += 1
      } catch {
        refused += 1
      }
    }
    print("fuzzing configuration files: \(accepted) accepted, \(refused) refused")
    #expect(accepted > 0 && refused > 0)
  }

  @Test("a directory of catalogs")
  func catalogs() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "fuzz-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appending(path: "ko.arb")
    let corpus = [
      Array(#"{"@@locale":"ko","like":"{actor}님이 좋아합니다","comment":"{actor}"}"#.utf8)
    ]
    let counts = try Fuzzing.run("catalog directories", corpus) { bytes, _ in
      try Data(bytes).write(to: file)
      do {
        _ = try AlarmTextEngine(
          catalogDirectory: directory.path, configuration: AlarmTextEngine.Configuration())
        return true
      } catch is CatalogError { return false }
    }
    #expect(counts.refused > 0)
  }

  @Test("files that the tool reads: events to publish and offsets to import")
  func files() throws {
    var random = SeededGenerator(seed: Fuzzing.seed)
    let file = "/tmp/magpie-fuzz-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: file) }
    let lines = try Self.events.map { Array(try StructuredEvent.encode($0).utf8) }
    var content: [UInt8] = []
    for _ in 0..<3_000 {
      content += Fuzzing.mutated(lines.randomElement(using: &random) ?? [], &random) + [10]
    }
    try Data(content).write(to: URL(filePath: file))
    let published = try run("magpie", ["publish", "--dry-run", file], [:])
    #expect(published.exit == .exited(1), "\(published.output.suffix(500))")
    #expect(HostileTextTests.hazards(published.output) == [])

    let offset = Array(
      #"{"group":"magpie.fanout","topic":"magpie.posts","partition":0,"nextOffset":7,"highWatermark":9,"lastOffset":6,"last":{"timestamp":1,"key":"YQ==","checksum":"00"}}"#
        .utf8)
    let environment = [
      "MAGPIE_KAFKA_BOOTSTRAP": "127.0.0.1:1", "MAGPIE_DATABASE_URL": "host=127.0.0.1 port=1",
    ]
    for _ in 0..<20 {
      try Data(Fuzzing.mutated(offset, &random)).write(to: URL(filePath: file))
      let ran = try run("magpie", ["offsets", "import", "--by", "offset", file], environment)
      // Rejected, or accepted and then failing for lack of a database.
      #expect(ran.exit == .exited(64) || ran.exit == .exited(69), "\(ran.output)")
      #expect(HostileTextTests.hazards(ran.output) == [], "\(ran.output)")
    }
  }
}
