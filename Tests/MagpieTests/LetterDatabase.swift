import Events
import Foundation
import Kafka
import Postgres
import TestSupport

/// A database with dead letters inserted by the test, topics, and the tool for both.
struct LetterDatabase {
  let connection: Connection
  let prefix = TestBroker.topicPrefix()
  let tool: Tool

  init(partitions: Int = 1) throws {
    let url = try TestDatabase.fresh()
    connection = try Connection(url, applicationName: "test")
    try TestBroker.shared.createTopics(prefix: prefix, partitions: partitions)
    tool = Tool(environment: [
      "MAGPIE_KAFKA_BOOTSTRAP": try TestBroker.shared.bootstrap,
      "MAGPIE_DATABASE_URL": url,
      "MAGPIE_TOPIC_PREFIX": prefix,
    ])
  }

  func like(_ actor: String, post: String = "post", owner: String = "owner") -> Event {
    Event(
      id: "like-\(actor)-\(post)", source: "test",
      time: EventTime(microseconds: 1_700_000_000_000_000),
      payload: .like(actor, post, of: owner))
  }

  func wire(_ event: Event, as type: ContentType = .json) throws -> WireRecord {
    try EventCodec.encode(event, as: type)
  }

  /// Inserts a dead letter like a worker.
  func insert(
    _ record: WireRecord, offset: Int, group: String = "notification", topic: Topic = .likes,
    code: String = "not-applicable", reason: String = "for the test"
  ) throws {
    try connection.query(
      """
      INSERT INTO dead_letters (consumer_group, topic, partition, record_offset, record_time, key,
        value, header_names, header_values, reason_code, reason, code_version)
      VALUES ($1, $2, 0, $3, to_timestamp(1700000000), $4, $5, $6, $7, $8, $9, '0.0.1')
      """,
      [
        .text(prefix + group), .text(topic.name(prefix: prefix)), .int8(Int64(offset)),
        .bytea(record.key), .bytea(record.value), .textArray(record.headers.map(\.name)),
        .byteaArray(record.headers.map(\.value)), .text(code), .text(reason),
      ])
  }

  func id(_ offset: Int, group: String = "notification", topic: Topic = .likes) -> String {
    "\(prefix)\(group):\(topic.name(prefix: prefix))/0/\(offset)"
  }

  func states() throws -> [String] {
    try connection.query("SELECT state FROM dead_letters ORDER BY record_offset").map {
      try $0.text(0)
    }
  }

  func count(_ sql: String) throws -> Int {
    try connection.query("SELECT count(*) FROM \(sql)").only.int(0)
  }
}
