import CRDKafka

extension Admin {
  /// The offset of a partition's first record at or after a time (milliseconds since 1970), or the
  /// end offset if there is none.
  ///
  /// Some brokers answer this request with -1 or 0 regardless of the log (the embedded broker and
  /// Tansu). Such an answer is not trusted: the log's first record is read and, if it is too early, the log
  /// is bisected by reading single records, which assumes that timestamps do not decrease along it. The
  /// timeout bounds the whole call.
  public func offset(
    of partition: TopicPartition, atOrAfterMilliseconds time: Int64,
    timeoutMilliseconds: Int = 30_000
  ) throws -> Int64 {
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    while true {
      let log = try watermarks(
        partition, timeoutMilliseconds: max(1, deadline.remainingMilliseconds))
      if log.low >= log.high { return log.high }
      let answer = try brokersAnswer(partition, time, deadline)
      if answer > log.low, answer <= log.high { return answer }
      do {
        return try bisect(partition, time, log, deadline)
      } catch let error as KafkaError
        where error.code == KafkaError.Code(RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET)
        && !deadline.isOver
      {
        // Retention has deleted the log's beginning meanwhile.
      }
    }
  }

  private func brokersAnswer(_ partition: TopicPartition, _ time: Int64, _ deadline: Deadline)
    throws(KafkaError) -> Int64
  {
    try withPartitionList([(key: partition, value: time)]) { list throws(KafkaError) in
      let code = rd_kafka_offsets_for_times(client.pointer, list, deadline.timeout())
      guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
        throw client.error(
          code, "offset by time of \(partition): \(String(cString: rd_kafka_err2str(code)))")
      }
      return list.pointee.elems[0].err == RD_KAFKA_RESP_ERR_NO_ERROR
        ? list.pointee.elems[0].offset : -1
    }
  }

  private func bisect(
    _ partition: TopicPartition, _ time: Int64, _ log: Watermarks, _ deadline: Deadline
  ) throws -> Int64 {
    guard let first = try firstRecord(of: partition, from: log.low, below: log.high, deadline)
    else { return log.high }
    // Then the broker's answer may be true, and times may decrease after it.
    if first.timestampMilliseconds >= time { return first.offset }
    var low = first.offset + 1
    // No record in high..<answer.
    var (high, answer) = (log.high, log.high)
    while low < high {
      let middle = low + (high - low) / 2
      // Compaction and transactions leave gaps, so the record may lie above the middle.
      guard
        let found = try firstRecord(of: partition, from: middle, below: high, deadline)
      else {
        high = middle
        continue
      }
      if found.timestampMilliseconds < time {
        low = found.offset + 1
      } else {
        (high, answer) = (middle, found.offset)
      }
    }
    return answer
  }

  /// The first record at or above `offset` and below `limit`, read by a separate consumer.
  func firstRecord(
    of partition: TopicPartition, from offset: Int64, below limit: Int64,
    _ deadline: Deadline
  ) throws -> Record? {
    let context = AdminContext(log: configuration.log)
    var settings = configuration
    settings.properties["fetch.wait.max.ms"] = "10"
    let reader = try Client(settings, .consumer(group: "magpie.admin"), context: context)
    defer { reader.destroy(context: context, withinMilliseconds: 2_000) }
    rd_kafka_poll_set_consumer(reader.pointer)
    let code = withPartitionList([(key: partition, value: offset)]) {
      rd_kafka_assign(reader.pointer, $0)
    }
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw reader.error(code) }
    while !deadline.isOver {
      guard let message = rd_kafka_consumer_poll(reader.pointer, 100) else { continue }
      defer { rd_kafka_message_destroy(message) }
      // Only deleted records or transaction markers follow.
      if message.pointee.err == RD_KAFKA_RESP_ERR__PARTITION_EOF { return nil }
      guard message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
        throw reader.error(message.pointee.err)
      }
      let record = Record(message, topic: partition.topic)
      return record.offset < limit ? record : nil
    }
    throw reader.error(
      RD_KAFKA_RESP_ERR__TIMED_OUT, "no record at or after offset \(offset) of \(partition)")
  }
}
