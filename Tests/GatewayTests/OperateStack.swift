import EmbeddedStack
import Events
import Foundation
import Kafka
import Postgres
import TestSupport

@testable import Gateway

/// `magpie operate` with a database and topics of its own.
final class OperateStack: Sendable {
  static let audience = "magpie-operators"

  let databaseURL: String
  let prefix = TestBroker.topicPrefix()
  let directory: URL
  let server: ChildProcess
  let port: UInt16

  /// - Parameters:
  ///   - login: the user of the server's connections; nil for the tables' owner.
  ///   - processes: `--operate-processes`; nothing listens at the default.
  ///   - bootstrap: Kafka's address; nil for the tests' broker.
  init(
    login: String? = nil, processes: String = "worker=127.0.0.1:9", bootstrap: String? = nil
  ) async throws {
    let url = try TestDatabase.fresh()
    databaseURL = url
    directory = URL(filePath: "/tmp/magpie-operate-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    try TestBroker.shared.createTopics(prefix: prefix, partitions: 2)
    let keys = directory.appending(path: "keys.json").path
    try Tokens.ours.get().keySet().write(toFile: keys, atomically: true, encoding: .utf8)
    let log = directory.appending(path: "operate.log").path
    let server = try ChildProcess(
      builtExecutable("magpie"),
      [
        "operate", "--http-port", "0", "--operate-port", "0", "--token-issuer", Tokens.issuer,
        "--operate-audience", Self.audience, "--jwks-file", keys,
        "--operate-processes", processes,
      ],
      environment: [
        "MAGPIE_KAFKA_BOOTSTRAP": try bootstrap ?? TestBroker.shared.bootstrap,
        "MAGPIE_DATABASE_URL": try login.map {
          try ConnectionInfo(url).replacing(user: $0).connectionString
        } ?? url,
        "MAGPIE_TOPIC_PREFIX": prefix,
      ],
      output: .file(log))
    self.server = server
    var text = ""
    var port: UInt16?
    try await eventually("the pages are served, or the server has ended") {
      text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
      port = LocalHTTP.port(in: text, after: "serving the operators' pages")
      return port != nil || !server.isRunning
    }
    guard let port else { throw StackError(text) }
    self.port = port
  }

  var log: String {
    (try? String(contentsOf: directory.appending(path: "operate.log"), encoding: .utf8)) ?? ""
  }

  func stop() {
    server.terminate(within: 30)
    try? FileManager.default.removeItem(at: directory)
  }

  func connection() throws -> Connection { try Connection(databaseURL, applicationName: "test") }

  func token(_ person: String, audience: String = OperateStack.audience) throws -> String {
    try Tokens.ours.get().token(
      claims: Tokens.claims(person, replacing: ["aud": audience]))
  }

  /// The address of a page, with a token.
  func page(_ path: String, as person: String) throws -> String {
    "http://127.0.0.1:\(port)\(path)#token=\(try token(person))"
  }

  func send(
    _ method: String, _ path: String, as person: String? = "Olga", body: String? = nil,
    authorization given: String? = nil
  ) async throws -> Answer {
    var head = "\(method) \(path) HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
    if let authorization = try given ?? person.map({ "Bearer " + (try token($0)) }) {
      head += "Authorization: \(authorization)\r\n"
    }
    if let body {
      head += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
    }
    let bytes = Array((head + "\r\n" + (body ?? "")).utf8)
    guard let answer = try await exchange(bytes, port: port) else {
      throw StackError("no answer to \(method) \(path)\n\(log)")
    }
    return answer
  }

  /// Inserts a dead letter of a like, by default like notification-worker; returns its id.
  @discardableResult
  func insertLetter(
    _ offset: Int, group: ConsumerGroup = .notification, topic: Topic = .likes,
    poison: Bool = false, reason: String = "for the test"
  ) throws -> String {
    let event = Event(
      id: "like-\(offset)", source: "test",
      time: EventTime(microseconds: 1_700_000_000_000_000),
      payload: .like("actor\(offset)", "post", of: "owner"))
    var record = try EventCodec.encode(event, as: .json)
    if poison { record.value = Array("{".utf8) }
    let (group, topic) = (group.name(prefix: prefix), topic.name(prefix: prefix))
    try connection().query(
      """
      INSERT INTO dead_letters (consumer_group, topic, partition, record_offset, record_time, key,
        value, header_names, header_values, reason_code, reason, code_version)
      VALUES ($1, $2, 0, $3, to_timestamp(1700000000), $4, $5, $6, $7, $8, $9, '0.0.1')
      """,
      [
        .text(group), .text(topic), .int8(Int64(offset)), .bytea(record.key),
        .bytea(record.value), .textArray(record.headers.map(\.name)),
        .byteaArray(record.headers.map(\.value)), .text(poison ? "bad-json" : "not-applicable"),
        .text(reason),
      ])
    return "\(group):\(topic)/0/\(offset)"
  }

  func texts(_ sql: String) throws -> [String] {
    try connection().query(sql).map { try $0.text(0) }
  }
}

/// A body of `/v1/redrives` and `/v1/discards`.
func order(_ ids: [String], _ reason: String) throws -> String {
  let body: [String: Any] = ["ids": ids, "reason": reason]
  return String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
}
