import CRDKafka

extension Admin {
  /// The number of brokers in the cluster. Blocks at most for the timeout.
  public func brokerCount(timeoutMilliseconds: Int = 10_000) throws(KafkaError) -> Int {
    var metadata: UnsafePointer<rd_kafka_metadata>?
    let code = rd_kafka_metadata(
      client.pointer, 0, nil, &metadata, Int32(clamping: timeoutMilliseconds))
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else {
      throw client.error(code, "listing brokers: \(String(cString: rd_kafka_err2str(code)))")
    }
    defer { rd_kafka_metadata_destroy(metadata) }
    return Int(metadata.pointee.broker_cnt)
  }
}
