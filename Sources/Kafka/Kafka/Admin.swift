import CRDKafka
import Foundation

/// A topic to create.
public struct NewTopic: Sendable, Equatable {
  public var name: String
  public var partitions: Int
  public var replicationFactor: Int
  /// Topic configuration, such as `cleanup.policy=compact`.
  public var configuration: [String: String]

  public init(
    name: String, partitions: Int, replicationFactor: Int = 1,
    configuration: [String: String] = [:]
  ) {
    self.name = name
    self.partitions = partitions
    self.replicationFactor = replicationFactor
    self.configuration = configuration
  }
}

/// Queries topics and offsets, and creates topics. Thread-safe; every call blocks at most for its
/// timeout, even if no broker answers.
public final class Admin: Sendable {
  /// How long to ask again for a topic before it counts as missing. A cluster announces a new topic to
  /// its brokers one by one; a client may ask one that does not know it yet.
  public static let newTopicGraceMilliseconds = 5_000

  let client: Client
  let configuration: ClientConfiguration
  private let context: AdminContext

  /// Connects in the background; throws only if the configuration is invalid.
  public init(configuration: ClientConfiguration) throws(KafkaError) {
    self.configuration = configuration
    context = AdminContext(log: configuration.log)
    // A consumer that never joins a group: unlike a producer's, its metadata requests create no
    // topics.
    client = try Client(configuration, .consumer(group: "magpie.admin"), context: context)
  }

  deinit { client.destroy(context: context, withinMilliseconds: 2_000) }

  /// Partition counts by topic; nil returns all topics. Topics that do not exist are missing from
  /// the result.
  ///
  /// - Parameter graceMilliseconds: how long to ask again while some of `names` are missing, because a
  ///   broker may not list a topic yet that was just created.
  public func topics(
    _ names: [String]? = nil, timeoutMilliseconds: Int = 10_000, graceMilliseconds: Int = 0
  ) throws(KafkaError) -> [String: Int] {
    let grace = Deadline(milliseconds: graceMilliseconds)
    while true {
      let known = try client.partitionLeaders(
        timeoutMilliseconds: Int32(clamping: timeoutMilliseconds)
      )
      .mapValues(\.count)
      guard let names else { return known }
      let present = known.filter { Set(names).contains($0.key) }
      if present.count == Set(names).count || grace.isOver { return present }
      Thread.sleep(forTimeInterval: 0.1)
    }
  }

  /// Creates topics and returns the names of those that did not exist before.
  ///
  /// For real brokers. The embedded broker does not support the request, so the call fails with
  /// `code == .unsupported`; the process that hosts it creates its topics.
  @discardableResult
  public func createTopics(_ topics: [NewTopic], timeoutMilliseconds: Int = 30_000)
    throws(KafkaError) -> Set<String>
  {
    if topics.isEmpty { return [] }
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    guard try hasController(deadline) else { throw cannotCreate() }
    let queue = rd_kafka_queue_new(client.pointer)
    defer { rd_kafka_queue_destroy(queue) }
    let options = rd_kafka_AdminOptions_new(client.pointer, RD_KAFKA_ADMIN_OP_CREATETOPICS)
    defer { rd_kafka_AdminOptions_destroy(options) }
    _ = rd_kafka_AdminOptions_set_request_timeout(
      options, deadline.timeout(), nil, 0)
    var requests: [OpaquePointer?] = []
    defer { for request in requests { rd_kafka_NewTopic_destroy(request) } }
    for topic in topics {
      var reason = [CChar](repeating: 0, count: 512)
      guard
        let request = rd_kafka_NewTopic_new(
          topic.name, Int32(clamping: topic.partitions), Int32(clamping: topic.replicationFactor),
          &reason, reason.count)
      else { throw .usage("topic \(topic.name): \(text(of: reason))") }
      requests.append(request)
      for (name, value) in topic.configuration {
        _ = rd_kafka_NewTopic_set_config(request, name, value)
      }
    }
    rd_kafka_CreateTopics(client.pointer, &requests, requests.count, options, queue)
    // The extra second lets the request's own timeout, whose error says more, expire first.
    guard let event = rd_kafka_queue_poll(queue, deadline.timeout() + 1_000)
    else { throw client.error(RD_KAFKA_RESP_ERR__TIMED_OUT, "creating topics") }
    defer { rd_kafka_event_destroy(event) }
    return try creationResult(event)
  }

  private func cannotCreate() -> KafkaError {
    client.error(
      RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE,
      "this cluster has no controller that could create topics. An embedded broker's topics are "
        + "created by the process that hosts it (`magpie up` creates all of them); a real "
        + "cluster may be electing a controller: try again")
  }

  /// False for the embedded broker, which reports a controller that is not one of its brokers.
  private func hasController(_ deadline: Deadline) throws(KafkaError) -> Bool {
    let controller = rd_kafka_controllerid(client.pointer, deadline.timeout())
    var metadata: UnsafePointer<rd_kafka_metadata>?
    let code = rd_kafka_metadata(client.pointer, 0, nil, &metadata, deadline.timeout())
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else {
      throw client.error(code, "listing brokers: \(String(cString: rd_kafka_err2str(code)))")
    }
    defer { rd_kafka_metadata_destroy(metadata) }
    return UnsafeBufferPointer(
      start: metadata.pointee.brokers, count: Int(metadata.pointee.broker_cnt)
    ).contains { $0.id == controller }
  }

  private func creationResult(_ event: OpaquePointer) throws(KafkaError) -> Set<String> {
    let code = rd_kafka_event_error(event)
    if code == RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE {
      throw cannotCreate()
    }
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw client.error(
        code, "creating topics: \(String(cString: rd_kafka_event_error_string(event)))")
    }
    var count = 0
    let results = rd_kafka_CreateTopics_result_topics(
      rd_kafka_event_CreateTopics_result(event), &count)
    var created: Set<String> = []
    for index in 0..<count {
      guard let result = results?[index] else { continue }
      let name = String(cString: rd_kafka_topic_result_name(result))
      let code = rd_kafka_topic_result_error(result)
      switch code {
      case RD_KAFKA_RESP_ERR_NO_ERROR: created.insert(name)
      case RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS: break
      default:
        let reason = rd_kafka_topic_result_error_string(result).map { String(cString: $0) }
        throw client.error(code, "creating topic \(name): \(reason ?? "refused")")
      }
    }
    return created
  }

  /// The offsets that a consumer group has committed to Kafka. Partitions without a commit are
  /// missing.
  public func committedOffsets(
    group: String, _ partitions: [TopicPartition], timeoutMilliseconds: Int = 10_000
  ) throws(KafkaError) -> [TopicPartition: Int64] {
    if partitions.isEmpty { return [:] }
    let context = AdminContext(log: configuration.log)
    let member = try Client(configuration, .consumer(group: group), context: context)
    defer { member.destroy(context: context, withinMilliseconds: 2_000) }
    return try withPartitionList(of: partitions) {
      list throws(KafkaError) in
      let code = rd_kafka_committed(member.pointer, list, Int32(clamping: timeoutMilliseconds))
      guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
        throw member.error(code, "offsets of \(group): \(String(cString: rd_kafka_err2str(code)))")
      }
      var offsets: [TopicPartition: Int64] = [:]
      for element in list.elements {
        guard element.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
          throw member.error(element.err, "offset of \(group) in \(element.topicPartition)")
        }
        if element.offset >= 0 { offsets[element.topicPartition] = element.offset }
      }
      return offsets
    }
  }
}

/// `@unchecked Sendable`: holds only the immutable log handler and state behind mutexes.
final class AdminContext: Client.Context, @unchecked Sendable {}
