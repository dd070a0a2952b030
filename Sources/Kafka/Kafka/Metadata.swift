import CRDKafka

extension Client {
  /// The leaders of all partitions of all topics, by partition number; nil if a partition currently
  /// has none. Any broker answers, from its own metadata.
  ///
  /// Requests all topics, because a request by name makes some brokers create the topic.
  func partitionLeaders(timeoutMilliseconds: Int32) throws(KafkaError) -> [String: [Int32?]] {
    try withMetadata(timeoutMilliseconds: timeoutMilliseconds) { $0.partitionLeaders }
  }

  /// The ids of all brokers: those that are up, and those that hold a replica of any partition. Metadata
  /// does not list a broker that is down.
  func brokerIDs(timeoutMilliseconds: Int32) throws(KafkaError) -> Set<Int32> {
    try withMetadata(timeoutMilliseconds: timeoutMilliseconds) { $0.brokerIDs }
  }

  /// Requests the metadata of all topics.
  private func withMetadata<T>(
    timeoutMilliseconds: Int32, _ body: (UnsafePointer<rd_kafka_metadata>) -> T
  ) throws(KafkaError) -> T {
    let deadline = Deadline(milliseconds: Int(timeoutMilliseconds))
    var metadata: UnsafePointer<rd_kafka_metadata>?
    var code = RD_KAFKA_RESP_ERR__TIMED_OUT
    // librdkafka retries a request on the broker that it chose first, even if that broker has just
    // died; a new request chooses again. It reports "transport failure" if no broker became usable
    // in the time, which a TLS login may take on a busy machine.
    var attemptMilliseconds = 1_000
    repeat {
      code = rd_kafka_metadata(
        pointer, 1, nil, &metadata, deadline.timeout(atMost: attemptMilliseconds))
      attemptMilliseconds *= 2
    } while (code == RD_KAFKA_RESP_ERR__TIMED_OUT || code == RD_KAFKA_RESP_ERR__TRANSPORT)
      && !deadline.isOver
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else {
      throw error(code, "listing topics: \(String(cString: rd_kafka_err2str(code)))")
    }
    defer { rd_kafka_metadata_destroy(metadata) }
    context?.refusals.withLock { $0.noteAnswer() }
    return body(metadata)
  }
}

extension UnsafePointer<rd_kafka_metadata> {
  /// The leaders by topic; topics with errors are left out.
  fileprivate var partitionLeaders: [String: [Int32?]] {
    var leaders: [String: [Int32?]] = [:]
    let topics = UnsafeBufferPointer(start: pointee.topics, count: Int(pointee.topic_cnt))
    for topic in topics where topic.err == RD_KAFKA_RESP_ERR_NO_ERROR {
      let partitions = UnsafeBufferPointer(
        start: topic.partitions, count: Int(topic.partition_cnt))
      leaders[String(cString: topic.topic)] = partitions.sorted { $0.id < $1.id }
        .map { $0.leader >= 0 ? $0.leader : nil }
    }
    return leaders
  }

  fileprivate var brokerIDs: Set<Int32> {
    let brokers = UnsafeBufferPointer(start: pointee.brokers, count: Int(pointee.broker_cnt))
    var ids = Set(brokers.map(\.id))
    for topic in UnsafeBufferPointer(start: pointee.topics, count: Int(pointee.topic_cnt)) {
      let partitions = UnsafeBufferPointer(
        start: topic.partitions, count: Int(topic.partition_cnt))
      for partition in partitions {
        ids.formUnion(
          UnsafeBufferPointer(start: partition.replicas, count: Int(partition.replica_cnt)))
      }
    }
    return ids
  }
}
