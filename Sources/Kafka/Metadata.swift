import CRDKafka

extension Client {
  /// The leader of every partition of every topic, by partition number; nil where a partition has
  /// none at present. Any broker answers, as far as it knows.
  ///
  /// All topics are asked for, because asking by name makes some brokers create them.
  func partitionLeaders(timeoutMilliseconds: Int32) throws(KafkaError) -> [String: [Int32?]] {
    let deadline = Deadline(milliseconds: Int(timeoutMilliseconds))
    var metadata: UnsafePointer<rd_kafka_metadata>?
    var code = RD_KAFKA_RESP_ERR__TIMED_OUT
    // librdkafka repeats a request on the broker that it chose first, also when that one has just
    // died. Asking again chooses again. It answers "transport failure" when no broker could be chosen
    // in the time, which a login over TLS may take on a busy machine.
    var patience = 1_000
    repeat {
      code = rd_kafka_metadata(pointer, 1, nil, &metadata, deadline.timeout(atMost: patience))
      patience *= 2
    } while (code == RD_KAFKA_RESP_ERR__TIMED_OUT || code == RD_KAFKA_RESP_ERR__TRANSPORT)
      && !deadline.isOver
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else {
      throw error(code, "asking for topics: \(String(cString: rd_kafka_err2str(code)))")
    }
    defer { rd_kafka_metadata_destroy(metadata) }
    context?.refusals.withLock { $0.noteAnswer() }
    return metadata.partitionLeaders
  }
}

extension UnsafePointer<rd_kafka_metadata> {
  /// Of the topics that are in order.
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
}
