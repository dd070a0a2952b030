import CRDKafka
import Dispatch

/// What happened to this consumer's share of the topics.
public enum RebalanceEvent: Sendable, Equatable {
  /// These partitions are this consumer's now. The handler answers where each one starts.
  case assigned([TopicPartition])
  /// These are being handed over in good order: nobody else has them yet.
  case revoked([TopicPartition])
  /// These are gone: somebody else may be at work on them already.
  case lost([TopicPartition])
}

/// Where a consumer stands with its group.
public enum Membership: Sendable, Equatable {
  /// These topics of the subscription do not exist, as far as is known.
  case waitingForTopics([String])
  /// Not a member, or one that waits for its assignment.
  case joining
  /// A member that has its assignment, which may be of no partition.
  case settled
}

/// A member of a consumer group whose offsets are kept elsewhere.
///
/// Not Sendable: one thread creates, polls and closes it. The rebalance handler runs inside `poll`
/// and `close` on that thread. Nothing is paused and nothing is sought; not polling is the
/// back-pressure.
public final class Consumer {
  /// A starting offset: the first record there is.
  public static let beginning = Int64(RD_KAFKA_OFFSET_BEGINNING)
  /// A starting offset: the next record to be written.
  public static let end = Int64(RD_KAFKA_OFFSET_END)

  private let client: Client
  private let context: ConsumerContext
  private let topics: [String]
  private var isSubscribed = false
  /// Topics of the subscription that do not exist, as far as is known.
  private var missingTopics: [String] = []
  private var nextTopicQuestion = ContinuousClock.now
  private var nextHealthQuestion = ContinuousClock.now
  /// Errors that do not pass by themselves, and since when nothing contradicts them: by the topic
  /// they are about, "" for the group.
  private var complaints: [String: (error: KafkaError, since: ContinuousClock.Instant)] = [:]
  private var isClosed = false

  /// Polling joins `group` and subscribes to `topics`, once all of them are known to exist;
  /// partitions arrive during later polls.
  ///
  /// - Parameter onRebalance: for `.assigned` it must return the offset to start from for every
  ///   partition named: 0 or more, `beginning` or `end`. They are used in the very assignment, so
  ///   no record from elsewhere is ever seen. For the other events its answer is ignored. An error
  ///   it throws is thrown by `poll`; the consumer then holds no partition and should be closed.
  public init(
    configuration: ClientConfiguration, group: String, topics: [String],
    onRebalance: @escaping (RebalanceEvent) throws -> [TopicPartition: Int64]
  ) throws(KafkaError) {
    let context = ConsumerContext(log: configuration.log, topics: topics, onRebalance: onRebalance)
    client = try Client(configuration, .consumer(group: group), context: context) { conf in
      rd_kafka_conf_set_rebalance_cb(conf) { client, code, list, opaque in
        guard let client, let list, let opaque else { return }
        Unmanaged<ConsumerContext>.fromOpaque(opaque).takeUnretainedValue()
          .rebalance(client, code, list)
      }
      rd_kafka_conf_set_error_cb(conf) { _, code, reason, opaque in
        guard let opaque else { return }
        Unmanaged<ConsumerContext>.fromOpaque(opaque).takeUnretainedValue()
          .note(rd_kafka_resp_err_t(code), reason.map { String(cString: $0) })
      }
    }
    self.context = context
    self.topics = topics
    // One queue for records, rebalances and errors: consumer_poll serves them all.
    rd_kafka_poll_set_consumer(client.pointer)
  }

  /// Consumes these partitions from these offsets (0 or more) without joining: whatever others in
  /// `group` do, they stay this consumer's. The group is only where `commitAsync` reports to.
  public convenience init(
    configuration: ClientConfiguration, group: String, assigning starts: [TopicPartition: Int64]
  ) throws(KafkaError) {
    try self.init(
      configuration: configuration, group: group, topics: Set(starts.keys.map(\.topic)).sorted()
    ) { _ in [:] }
    isSubscribed = true
    let code = withPartitionList(starts) { rd_kafka_assign(client.pointer, $0) }
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw client.error(code) }
    context.adopt(starts.keys)
  }

  deinit {
    if !isClosed { client.destroy(context: context, withinMilliseconds: 0) }
  }

  /// The partitions held at present.
  public var assignment: Set<TopicPartition> { context.assignment }

  /// Where this consumer stands with its group, as of the last poll.
  public var membership: Membership {
    if !missingTopics.isEmpty { return .waitingForTopics(missingTopics) }
    return context.isSettled ? .settled : .joining
  }

  /// How often brokers refused this client's certificate or login since the last call, by their
  /// addresses, as far as librdkafka tells; and what one of them says.
  public func takeRefusals() -> (counts: [String: Int], message: String?) {
    context.refusals.withLock { ($0.takeUncounted(), $0.current(at: .now)?.message) }
  }

  /// The newest connection problem; nil once records or an assignment have come since, or all
  /// leaders of the assigned partitions have answered. Polling goes on meanwhile; this is for
  /// readiness and for people.
  public var connectionProblem: KafkaError? {
    context.problem.map { client.error($0.code, $0.reason) }
  }

  /// Waits for the first record up to `timeoutMilliseconds`, then takes what is there already.
  ///
  /// Ends at `maxRecords`, or with the record that reaches `maxBytes` (so it exceeds that by at
  /// most one record). Records of partitions revoked during this very call are not returned.
  ///
  /// A broker that refuses certificate or login is tried again like one that is away. It is an error
  /// once nobody has answered for 15 seconds while refusals go on: for two minutes, if somebody did
  /// before. An error that does not pass by itself, such as a missing permission, is thrown as one
  /// that may pass for the first 15 seconds, because brokers learn of permissions one by one.
  ///
  /// Throws `ConsumerError`, or what the rebalance handler threw. Records already taken are
  /// returned first and the error by the next call.
  public func poll(maxRecords: Int, maxBytes: Int, timeoutMilliseconds: Int) throws -> [Record] {
    guard !isClosed else { throw KafkaError.closed("consumer", bootstrap: client.bootstrap) }
    if let error = context.takeError() { throw error }
    if let error = overdueComplaint() { throw ConsumerError.other(error) }
    var wait = Int32(clamping: timeoutMilliseconds)
    if !isSubscribed || !missingTopics.isEmpty, .now >= nextTopicQuestion {
      if lookForTopics(timeoutMilliseconds: wait) {
        nextTopicQuestion = .now + .seconds(1)
        if !isSubscribed, missingTopics.isEmpty { try subscribe() }
      } else {
        // The time is spent; only serve what is there.
        wait = 0
      }
    }
    while context.batch.count < maxRecords, context.batchByteCount < maxBytes {
      guard let message = rd_kafka_consumer_poll(client.pointer, wait) else { break }
      defer { rd_kafka_message_destroy(message) }
      if message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR {
        context.append(message)
        wait = 0
      } else {
        let topic = message.pointee.rkt.map { String(cString: rd_kafka_topic_name($0)) } ?? ""
        context.pendingError = judged(client.consumerError(message), topic: topic)
        break
      }
    }
    if let error = context.handlerError {
      context.handlerError = nil
      _ = context.takeBatch()
      throw error
    }
    let batch = context.takeBatch()
    if !complaints.isEmpty {
      for record in batch { complaints[record.topic] = nil }
      if !batch.isEmpty || context.isSettled { complaints[""] = nil }
    }
    if batch.isEmpty {
      if let error = context.takeError() { throw error }
      try lookAtHealth()
    }
    return batch
  }

  /// What an error means for now: one that does not pass by itself may have been a broker's that
  /// does not know better yet.
  private func judged(_ error: ConsumerError, topic: String) -> ConsumerError {
    switch error {
    case .unknownTopic(let name):
      if topics.contains(name) { missingTopics = [name] }
      nextTopicQuestion = .now
      return error
    case .other(let cause) where !cause.isRetriable:
      let since = complaints[topic]?.since ?? .now
      complaints[topic] = (cause, since)
      return .other(cause.asRetriable)
    default:
      return error
    }
  }

  /// librdkafka tells some errors only once, so that an error stands until something contradicts it.
  private func overdueComplaint() -> KafkaError? {
    let now = ContinuousClock.now
    return complaints.values.first { now - $0.since >= Refusals.graceBeforeFirstAnswer }?.error
  }

  /// Nothing came: finds out whether a problem is past, and whether refusals are this client's fault.
  private func lookAtHealth() throws {
    let overdue = context.refusals.withLock { $0.overdue(at: .now) }
    guard context.problem != nil || overdue != nil, .now >= nextHealthQuestion else { return }
    defer { nextHealthQuestion = .now + .seconds(2) }
    if let overdue {
      // One broker that answers is enough: refusals are the others' fault then.
      guard isAnswered(timeoutMilliseconds: 2_000) else {
        throw ConsumerError.other(
          KafkaError(overdue.code, overdue.message, bootstrap: client.bootstrap))
      }
    }
    guard context.isSettled else { return }
    // A broker that is away is no problem of a consumer whose partitions it does not lead.
    let isPast: Bool
    if context.assignment.isEmpty {
      isPast = isAnswered(timeoutMilliseconds: 1_000)
    } else {
      let answers = try? client.watermarks(context.assignment.sorted(), timeoutMilliseconds: 1_000)
      isPast = answers?.values.allSatisfy { (try? $0.get()) != nil } ?? false
    }
    if isPast { context.forgetProblem() }
  }

  /// Tells Kafka the next offsets, for lag tools only. Never waits; a failure is returned for the
  /// log and otherwise without consequence.
  @discardableResult
  public func commitAsync(_ nextOffsets: [TopicPartition: Int64]) -> KafkaError? {
    guard !isClosed, !nextOffsets.isEmpty else { return nil }
    let code = withPartitionList(nextOffsets) { rd_kafka_commit(client.pointer, $0, 1) }
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : client.error(code)
  }

  /// First and next offset of a partition, asked of its leader. Allowed in the rebalance handler.
  public func watermarks(_ partition: TopicPartition, timeoutMilliseconds: Int = 10_000)
    throws(KafkaError) -> Watermarks
  {
    guard !isClosed else { throw .closed("consumer", bootstrap: client.bootstrap) }
    return try client.watermarks(partition, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// First and next offset of partitions, asked of their leaders at the same time. Throws when one
  /// of them does not answer. Allowed in the rebalance handler.
  public func watermarks(_ partitions: [TopicPartition], timeoutMilliseconds: Int = 10_000)
    throws(KafkaError) -> [TopicPartition: Watermarks]
  {
    guard !isClosed else { throw .closed("consumer", bootstrap: client.bootstrap) }
    var found: [TopicPartition: Watermarks] = [:]
    let answers = try client.watermarks(partitions, timeoutMilliseconds: timeoutMilliseconds)
    for (partition, answer) in answers { found[partition] = try answer.get() }
    return found
  }

  /// The same as of the last fetch, without asking; nil before the first fetch of the partition.
  public func cachedWatermarks(_ partition: TopicPartition) -> Watermarks? {
    guard !isClosed else { return nil }
    var low: Int64 = -1
    var high: Int64 = -1
    let code = rd_kafka_get_watermark_offsets(
      client.pointer, partition.topic, partition.partition, &low, &high)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR, low >= 0, high >= 0 else { return nil }
    return Watermarks(low: low, high: high)
  }

  /// Leaves the group: the handler sees `.revoked`, outstanding commits are sent, memory is freed.
  ///
  /// Returns within about twice `withinMilliseconds`, whatever the brokers do; false when the
  /// group could not be left in time (it then notices by its session timeout).
  @discardableResult
  public func close(withinMilliseconds: Int = 5_000) -> Bool {
    guard !isClosed else { return true }
    isClosed = true
    var left = false
    if let queue = rd_kafka_queue_new(client.pointer) {
      if let error = rd_kafka_consumer_close_queue(client.pointer, queue) {
        rd_kafka_error_destroy(error)
      } else {
        let deadline = DispatchTime.now() + .milliseconds(withinMilliseconds)
        while rd_kafka_consumer_closed(client.pointer) == 0, DispatchTime.now() < deadline {
          // Not rd_kafka_queue_poll_callback: it aborts the process when records are left.
          guard let event = rd_kafka_queue_poll(queue, 20) else { continue }
          defer { rd_kafka_event_destroy(event) }
          if rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE,
            let list = rd_kafka_event_topic_partition_list(event)
          {
            context.rebalance(client.pointer, rd_kafka_event_error(event), list)
          }
        }
        left = rd_kafka_consumer_closed(client.pointer) != 0
      }
      rd_kafka_queue_destroy(queue)
    }
    _ = context.takeBatch()
    let freed = client.destroy(context: context, withinMilliseconds: withinMilliseconds)
    return left && freed
  }

  /// Throws `ConsumerError.unknownTopic` when a topic of the subscription does not exist, or does not
  /// any more: the group then assigns what there is of the others, in silence. Polling goes on
  /// asking for it. Allowed in the rebalance handler.
  ///
  /// - Returns: false when no broker answered.
  @discardableResult
  public func checkTopics(timeoutMilliseconds: Int = 10_000) throws -> Bool {
    let isAnswered = lookForTopics(timeoutMilliseconds: Int32(clamping: timeoutMilliseconds))
    if let missing = missingTopics.first { throw ConsumerError.unknownTopic(missing) }
    return isAnswered
  }

  /// Whether any broker answers.
  public func isAnswered(timeoutMilliseconds: Int) -> Bool {
    guard !isClosed else { return false }
    return (try? client.partitionLeaders(timeoutMilliseconds: Int32(clamping: timeoutMilliseconds)))
      != nil
  }

  /// Asks any broker which topics of the subscription there are; false when none answered.
  private func lookForTopics(timeoutMilliseconds: Int32) -> Bool {
    do throws(KafkaError) {
      let known = try client.partitionLeaders(timeoutMilliseconds: max(timeoutMilliseconds, 10))
      missingTopics = topics.filter { known[$0] == nil }
      return true
    } catch {
      context.note(rd_kafka_resp_err_t(rawValue: error.code.rawValue), error.message)
      return false
    }
  }

  /// Only topics that are known to exist: brokers that know no better create the others (the
  /// embedded one with 4 partitions).
  private func subscribe() throws {
    let code = withPartitionList(
      topics.map { (key: TopicPartition(topic: $0, partition: -1), value: Int64(-1001)) }
    ) { rd_kafka_subscribe(client.pointer, $0) }
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw ConsumerError.other(client.error(code, "subscribing to \(topics)"))
    }
    isSubscribed = true
  }
}
