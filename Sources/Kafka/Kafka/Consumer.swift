import CRDKafka
import Dispatch

/// A change of this consumer's assignment.
public enum RebalanceEvent: Sendable, Equatable {
  /// These partitions are now assigned to this consumer. The handler returns the starting offset of
  /// each.
  case assigned([TopicPartition])
  /// These partitions are being revoked in order: no other consumer has them yet.
  case revoked([TopicPartition])
  /// These partitions are lost: another consumer may already process them.
  case lost([TopicPartition])
}

/// A consumer's state in its group.
public enum Membership: Sendable, Equatable {
  /// These subscribed topics do not exist according to the last answer of a broker.
  case waitingForTopics([String])
  /// Not a member, or a member without an assignment yet.
  case joining
  /// A member with an assignment, which may be empty.
  case settled
}

/// A member of a consumer group whose offsets are stored outside Kafka.
///
/// Not Sendable: one thread creates, polls and closes it. The rebalance handler runs inside `poll`
/// and `close` on that thread. Partitions are never paused or sought; a caller applies
/// back-pressure by not polling.
public final class Consumer {
  /// Starting offset: the first record in the log.
  public static let beginning = Int64(RD_KAFKA_OFFSET_BEGINNING)
  /// Starting offset: the next record to be written.
  public static let end = Int64(RD_KAFKA_OFFSET_END)

  private let client: Client
  private let context: ConsumerContext
  private let topics: [String]
  private var isSubscribed = false
  /// Subscribed topics that do not exist according to the last answer of a broker.
  private var missingTopics: [String] = []
  private var nextTopicCheck = ContinuousClock.now
  private var nextHealthCheck = ContinuousClock.now
  var permanentErrors = PermanentErrors()
  private var isClosed = false

  /// Polling joins `group` and subscribes to `topics` as soon as all of them are known to exist;
  /// later polls deliver the assignment.
  ///
  /// - Parameter onRebalance: for `.assigned` it must return the starting offset of every
  ///   partition: 0 or more, `beginning` or `end`. The offsets are part of the assignment, so that
  ///   records from elsewhere are never fetched. For other events the result is ignored. `poll`
  ///   rethrows its errors; the consumer then has no partitions and should be closed.
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
    // One queue for records, rebalances and errors, all served by consumer_poll.
    rd_kafka_poll_set_consumer(client.pointer)
  }

  /// Consumes these partitions from these offsets (0 or more) without joining the group, so that no
  /// rebalance takes them away. `commitAsync` commits to `group`.
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

  /// The current assignment.
  public var assignment: Set<TopicPartition> { context.assignment }

  /// Whether polls have returned all records that an assigned partition's log held at some time since the
  /// assignment, also if the log ends in transaction markers. A log that grows all the time may never be read to its
  /// end.
  public func hasReadToEnd(_ partition: TopicPartition) -> Bool {
    context.readToEnd.contains(partition)
  }

  /// This consumer's state in its group, as of the last poll.
  public var membership: Membership {
    if !missingTopics.isEmpty { return .waitingForTopics(missingTopics) }
    return context.isSettled ? .settled : .joining
  }

  /// How often each broker, by address, has refused this client's certificate or login since the
  /// last call, as far as librdkafka reports it; and the newest refusal's message.
  public func takeRefusals() -> (counts: [String: Int], message: String?) {
    context.refusals.withLock { ($0.takeCounts(), $0.current(at: .now)?.message) }
  }

  /// The newest connection problem; nil once records or an assignment have arrived since, or all
  /// leaders of the assigned partitions have answered. Polling continues meanwhile; this property
  /// is for readiness and diagnostics.
  public var connectionProblem: KafkaError? {
    isClosed ? nil : context.problem.map { client.error($0.code, $0.reason) }
  }

  /// Waits up to `timeoutMilliseconds` for the first record, then takes the records already
  /// fetched.
  ///
  /// Until it knows the topics, waits up to two seconds for a broker that lists them. Stops at
  /// `maxRecords`, or with the record that reaches `maxBytes` (thus exceeding it by at most one
  /// record). Does not return records of partitions that are revoked during the call.
  ///
  /// A broker that refuses the certificate or login is retried like one that is down. It becomes an
  /// error once refusals have continued for 15 seconds without an answer from any broker; for two
  /// minutes, if any broker has answered before. For the first 15 seconds a permanent error, such
  /// as a missing permission, is thrown as retriable, because permissions reach the brokers one by
  /// one.
  ///
  /// Throws `ConsumerError`, or the rebalance handler's error. Records that were already taken are
  /// returned first; the next call throws the error.
  public func poll(maxRecords: Int, maxBytes: Int, timeoutMilliseconds: Int) throws -> [Record] {
    guard !isClosed else { throw KafkaError.closed("consumer", bootstrap: client.bootstrap) }
    if let error = context.takeError() { throw error }
    if let error = permanentErrors.overdue(at: .now) { throw ConsumerError.other(error) }
    var wait = Int32(clamping: timeoutMilliseconds)
    if !isSubscribed || !missingTopics.isEmpty, .now >= nextTopicCheck {
      // Until the consumer has subscribed, it has nothing else to wait for.
      let hasAnswer = updateMissingTopics(
        timeoutMilliseconds: isSubscribed ? wait : max(wait, 2_000))
      nextTopicCheck = .now + .seconds(1)
      if hasAnswer {
        if !isSubscribed, missingTopics.isEmpty { try subscribe() }
      } else {
        // The timeout is used up: take only what has already arrived.
        wait = 0
      }
    }
    let end = ContinuousClock.now + .milliseconds(Int64(wait))
    while context.batch.count < maxRecords, context.batchByteCount < maxBytes {
      guard let message = rd_kafka_consumer_poll(client.pointer, wait) else { break }
      defer { rd_kafka_message_destroy(message) }
      if message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR {
        context.append(message)
        wait = 0
      } else if message.pointee.err == RD_KAFKA_RESP_ERR__PARTITION_EOF {
        // The broker lets this client read the topic, which may stay without records.
        permanentErrors.contradict(topics: [context.noteEnd(message)], isSettled: false)
        if wait > 0 { wait = Int32(clamping: Int64(max(0, (end - .now) / .milliseconds(1)))) }
      } else {
        let topic = message.pointee.rkt.map { String(cString: rd_kafka_topic_name($0)) } ?? ""
        context.pendingError = temporarilyRetriable(client.consumerError(message), topic: topic)
        break
      }
    }
    if let error = context.handlerError {
      context.handlerError = nil
      _ = context.takeBatch()
      throw error
    }
    let batch = context.takeBatch()
    permanentErrors.contradict(topics: batch.lazy.map(\.topic), isSettled: context.isSettled)
    if batch.isEmpty {
      if let error = context.takeError() { throw error }
      try checkHealth()
    }
    return batch
  }

  /// Records a permanent error and makes it retriable for now: the broker that reported it may have
  /// stale information.
  private func temporarilyRetriable(_ error: ConsumerError, topic: String) -> ConsumerError {
    switch error {
    case .unknownTopic(let name):
      if topics.contains(name) { missingTopics = [name] }
      nextTopicCheck = .now
      return error
    case .other(let cause) where !cause.isRetriable:
      permanentErrors.note(cause, topic: topic, at: .now)
      return .other(cause.asRetriable)
    default:
      return error
    }
  }

  /// Called when a poll returns nothing: checks whether the connection problem is over, and throws
  /// if refusals are this client's fault.
  private func checkHealth() throws {
    let overdue = context.refusals.withLock { $0.overdue(at: .now) }
    guard context.problem != nil || overdue != nil, .now >= nextHealthCheck else { return }
    defer { nextHealthCheck = .now + .seconds(2) }
    if let overdue {
      // If any broker answers, the refusals are the other brokers' fault.
      guard isAnyBrokerReachable(timeoutMilliseconds: 2_000) else {
        throw ConsumerError.other(
          KafkaError(overdue.code, overdue.message, bootstrap: client.bootstrap))
      }
    }
    guard context.isSettled else { return }
    // An unreachable broker does not matter to a consumer unless it leads one of its partitions.
    let isResolved: Bool
    if context.assignment.isEmpty {
      isResolved = isAnyBrokerReachable(timeoutMilliseconds: 1_000)
    } else {
      let answers = availableWatermarks(context.assignment.sorted(), timeoutMilliseconds: 1_000)
      isResolved = answers.count == context.assignment.count
    }
    if isResolved { context.forgetProblem() }
  }

  /// Commits the next offsets to Kafka, for lag tools only. Never waits. A failure is returned for
  /// logging and has no other effect.
  @discardableResult
  public func commitAsync(_ nextOffsets: [TopicPartition: Int64]) -> KafkaError? {
    guard !isClosed, !nextOffsets.isEmpty else { return nil }
    let code = withPartitionList(nextOffsets) { rd_kafka_commit(client.pointer, $0, 1) }
    return code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : client.error(code)
  }

  /// The log start and end offsets of partitions, requested from all leaders concurrently. Throws
  /// if one does not answer. May be called in the rebalance handler.
  public func watermarks(_ partitions: [TopicPartition], timeoutMilliseconds: Int = 10_000)
    throws(KafkaError) -> [TopicPartition: Watermarks]
  {
    guard !isClosed else { throw .closed("consumer", bootstrap: client.bootstrap) }
    var found: [TopicPartition: Watermarks] = [:]
    let answers = try client.watermarks(partitions, timeoutMilliseconds: timeoutMilliseconds)
    for (partition, answer) in answers { found[partition] = try answer.get() }
    return found
  }

  /// The log start and end offsets of partitions, as far as their leaders answer in time. May be
  /// called in the rebalance handler.
  public func availableWatermarks(_ partitions: [TopicPartition], timeoutMilliseconds: Int)
    -> [TopicPartition: Watermarks]
  {
    guard !isClosed else { return [:] }
    let answers = try? client.watermarks(partitions, timeoutMilliseconds: timeoutMilliseconds)
    return answers?.compactMapValues { try? $0.get() } ?? [:]
  }

  /// The log start and end offset as of the last fetch, without a request; nil before the
  /// partition's first fetch.
  public func cachedWatermarks(_ partition: TopicPartition) -> Watermarks? {
    guard !isClosed else { return nil }
    var low: Int64 = -1
    var high: Int64 = -1
    let code = rd_kafka_get_watermark_offsets(
      client.pointer, partition.topic, partition.partition, &low, &high)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR, low >= 0, high >= 0 else { return nil }
    return Watermarks(low: low, high: high)
  }

  /// Leaves the group: calls the handler with `.revoked`, sends outstanding commits, frees memory.
  ///
  /// Returns within about twice `withinMilliseconds`, even if no broker answers. Returns false if
  /// the group could not be left in time; it then removes the member when the session times out.
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
          // rd_kafka_queue_poll_callback would abort the process if records are left.
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

  /// Throws `ConsumerError.unknownTopic` if a subscribed topic does not exist or no longer exists;
  /// the group silently assigns only the partitions of the other topics. Polling keeps checking.
  /// May be called in the rebalance handler.
  ///
  /// - Returns: false if no broker answered.
  @discardableResult
  public func checkTopics(timeoutMilliseconds: Int = 10_000) throws -> Bool {
    let hasAnswer = updateMissingTopics(timeoutMilliseconds: Int32(clamping: timeoutMilliseconds))
    if let missing = missingTopics.first { throw ConsumerError.unknownTopic(missing) }
    return hasAnswer
  }

  /// Whether any broker answers within the timeout.
  public func isAnyBrokerReachable(timeoutMilliseconds: Int) -> Bool {
    guard !isClosed else { return false }
    return (try? client.partitionLeaders(timeoutMilliseconds: Int32(clamping: timeoutMilliseconds)))
      != nil
  }

  /// Asks any broker which subscribed topics exist. Returns false if none answered.
  private func updateMissingTopics(timeoutMilliseconds: Int32) -> Bool {
    do throws(KafkaError) {
      let known = try client.partitionLeaders(timeoutMilliseconds: max(timeoutMilliseconds, 10))
      missingTopics = topics.filter { known[$0] == nil }
      return true
    } catch {
      context.note(rd_kafka_resp_err_t(rawValue: error.code.rawValue), error.message)
      return false
    }
  }

  /// Called only once all topics are known to exist: some brokers create missing ones (the embedded
  /// broker with 4 partitions).
  private func subscribe() throws {
    let code = withPartitionList(
      of: topics.map { TopicPartition(topic: $0, partition: -1) }
    ) { rd_kafka_subscribe(client.pointer, $0) }
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw ConsumerError.other(client.error(code, "subscribing to \(topics)"))
    }
    isSubscribed = true
  }
}
