import CRDKafka

extension Admin {
  /// How many brokers the cluster has at present. Blocks up to the timeout.
  public func brokerCount(timeoutMilliseconds: Int = 10_000) throws(KafkaError) -> Int {
    var metadata: UnsafePointer<rd_kafka_metadata>?
    let code = rd_kafka_metadata(
      client.pointer, 0, nil, &metadata, Int32(clamping: timeoutMilliseconds))
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else {
      throw client.error(code, "asking for brokers: \(String(cString: rd_kafka_err2str(code)))")
    }
    defer { rd_kafka_metadata_destroy(metadata) }
    return Int(metadata.pointee.broker_cnt)
  }
}
