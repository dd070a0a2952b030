import CRDKafka
import Records

extension Record {
  /// Copies a message out of librdkafka's memory.
  init(_ message: UnsafeMutablePointer<rd_kafka_message_t>, topic: String) {
    let source = message.pointee
    self.init(
      topic: topic, partition: source.partition, offset: source.offset,
      timestampMilliseconds: rd_kafka_message_timestamp(message, nil),
      key: bytes(source.key, source.key_len), value: bytes(source.payload, source.len),
      headers: copyHeaders(message))
  }
}

private func bytes(_ pointer: UnsafeRawPointer?, _ count: Int) -> [UInt8]? {
  pointer.map { Array(UnsafeRawBufferPointer(start: $0, count: count)) }
}

private func copyHeaders(_ message: UnsafeMutablePointer<rd_kafka_message_t>) -> [Header] {
  var list: OpaquePointer?
  let code = rd_kafka_message_headers(message, &list)
  if code == RD_KAFKA_RESP_ERR__NOENT { return [] }
  guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let list else {
    return [Header(name: WireRecord.unreadableHeader, value: nil)]
  }
  let count = rd_kafka_header_cnt(list)
  var headers: [Header] = []
  headers.reserveCapacity(count)
  for index in 0..<count {
    var name: UnsafePointer<CChar>?
    var value: UnsafeRawPointer?
    var size = 0
    guard
      rd_kafka_header_get_all(list, index, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR,
      let name
    else { break }
    headers.append(Header(name: String(cString: name), value: bytes(value, size)))
  }
  return headers
}
