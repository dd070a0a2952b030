import CRDKafka

/// Reads partitions of one topic from given offsets without a consumer group, to read a log again.
///
/// Not Sendable: one thread creates, polls and closes it. Never commits offsets.
public final class TopicReader {
  /// The result of one poll.
  public struct Found {
    /// In offset order within each partition.
    public var records: [Record] = []
    /// For each partition with progress, the offset after everything read or skipped. At the
    /// partition's end this includes records that are never delivered (aborted, compacted away,
    /// transaction markers).
    public var nextOffsets: [Int32: Int64] = [:]
  }

  private let client: Client
  private let context: ReaderContext
  private let topic: String
  private var isClosed = false

  /// Starts fetching. The topic must exist (see `Admin.topics`): some brokers create the topics
  /// that they are asked for.
  ///
  /// - Parameter starts: the first offset to read, 0 or more, of each partition.
  public init(configuration: ClientConfiguration, topic: String, from starts: [Int32: Int64])
    throws(KafkaError)
  {
    let context = ReaderContext(log: configuration.log)
    // librdkafka assigns nothing without a group id; without a subscription it does not join the group.
    client = try Client(configuration, .consumer(group: "magpie.reader"), context: context) {
      conf in
      rd_kafka_conf_set_error_cb(conf) { _, code, reason, opaque in
        guard let opaque else { return }
        Unmanaged<ReaderContext>.fromOpaque(opaque).takeUnretainedValue().problem =
          (rd_kafka_resp_err_t(code), reason.map { String(cString: $0) })
      }
    }
    self.context = context
    self.topic = topic
    rd_kafka_poll_set_consumer(client.pointer)
    let code = withPartitionList(
      starts.map { (key: TopicPartition(topic: topic, partition: $0.key), value: $0.value) }
    ) { rd_kafka_assign(client.pointer, $0) }
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      let error = client.error(
        code, "reading \(topic): \(String(cString: rd_kafka_err2str(code)))")
      close()
      throw error
    }
  }

  deinit { close() }

  /// The newest connection problem; nil once something has been read since. Reading continues
  /// meanwhile.
  public var connectionProblem: KafkaError? {
    isClosed ? nil : context.problem.map { client.error($0.code, $0.reason) }
  }

  /// Waits up to `timeoutMilliseconds` for the first record or the end of a partition, then takes
  /// the records already fetched.
  ///
  /// Stops at `maxRecords`, or with the record that reaches `maxBytes`. Throws `ConsumerError` for
  /// permanent errors, after returning the records before them.
  public func poll(maxRecords: Int, maxBytes: Int, timeoutMilliseconds: Int) throws -> Found {
    guard !isClosed else { throw KafkaError.closed("reader", bootstrap: client.bootstrap) }
    if let error = context.pendingError { throw error }
    var found = Found()
    var byteCount = 0
    var wait = Int32(clamping: timeoutMilliseconds)
    while found.records.count < maxRecords, byteCount < maxBytes,
      let message = rd_kafka_consumer_poll(client.pointer, wait)
    {
      defer { rd_kafka_message_destroy(message) }
      switch message.pointee.err {
      case RD_KAFKA_RESP_ERR_NO_ERROR:
        let record = Record(message, topic: topic)
        byteCount += record.memoryByteCount
        found.nextOffsets[record.partition] = record.offset + 1
        found.records.append(record)
      case RD_KAFKA_RESP_ERR__PARTITION_EOF:
        found.nextOffsets[message.pointee.partition] = message.pointee.offset
      default:
        let error = client.consumerError(message)
        guard !error.isRetriable else {
          context.problem = (message.pointee.err, "\(error)")
          continue
        }
        context.pendingError = error
        if found.nextOffsets.isEmpty { throw error }
        return found
      }
      context.problem = nil
      wait = 0
    }
    return found
  }

  /// Stops fetching these partitions; later polls return none of their records.
  public func stopReading(_ partitions: some Sequence<Int32>) throws(KafkaError) {
    let places = partitions.map { TopicPartition(topic: topic, partition: $0) }
    guard !isClosed, !places.isEmpty else { return }
    let error = withPartitionList(of: places) { rd_kafka_incremental_unassign(client.pointer, $0) }
    if let error { throw KafkaError(consuming: error, bootstrap: client.bootstrap) }
  }

  /// Stops fetching and frees the client, in the background if that takes longer than two seconds.
  public func close() {
    guard !isClosed else { return }
    isClosed = true
    client.destroy(context: context, withinMilliseconds: 2_000)
  }
}

/// Only the polling thread touches it: the error callback runs inside `rd_kafka_consumer_poll`.
private final class ReaderContext: Client.Context {
  var problem: (code: rd_kafka_resp_err_t, reason: String?)?
  var pendingError: ConsumerError?
}
