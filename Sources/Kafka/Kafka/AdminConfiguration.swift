import CRDKafka

extension Admin {
  /// The settings of topics, by topic and name, defaults included. Topics that do not exist are missing
  /// from the result.
  ///
  /// The embedded broker does not support the request: the call fails with `code == .unsupported`.
  public func configurations(of topics: [String], timeoutMilliseconds: Int = 10_000)
    throws(KafkaError) -> [String: [String: String]]
  {
    if topics.isEmpty { return [:] }
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    let queue = rd_kafka_queue_new(client.pointer)
    defer { rd_kafka_queue_destroy(queue) }
    let options = rd_kafka_AdminOptions_new(client.pointer, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS)
    defer { rd_kafka_AdminOptions_destroy(options) }
    _ = rd_kafka_AdminOptions_set_request_timeout(options, deadline.timeout(), nil, 0)
    var requests = topics.map { rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0) }
    defer { for request in requests { rd_kafka_ConfigResource_destroy(request) } }
    rd_kafka_DescribeConfigs(client.pointer, &requests, requests.count, options, queue)
    // The extra second lets the request's own timeout, whose error says more, expire first.
    guard let event = rd_kafka_queue_poll(queue, deadline.timeout() + 1_000)
    else { throw client.error(RD_KAFKA_RESP_ERR__TIMED_OUT, "reading topics' settings") }
    defer { rd_kafka_event_destroy(event) }
    let code = rd_kafka_event_error(event)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw client.error(
        code, "reading topics' settings: \(String(cString: rd_kafka_event_error_string(event)))")
    }
    return try settings(event)
  }

  private func settings(_ event: OpaquePointer) throws(KafkaError) -> [String: [String: String]] {
    var result: [String: [String: String]] = [:]
    var count = 0
    let resources = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event), &count)
    for index in 0..<count {
      guard let resource = resources?[index] else { continue }
      let name = String(cString: rd_kafka_ConfigResource_name(resource))
      let code = rd_kafka_ConfigResource_error(resource)
      if code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART { continue }
      guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
        throw client.error(code, "reading the settings of \(name)")
      }
      var entryCount = 0
      let entries = rd_kafka_ConfigResource_configs(resource, &entryCount)
      for entry in 0..<entryCount {
        guard let entry = entries?[entry], let value = rd_kafka_ConfigEntry_value(entry) else {
          continue
        }
        result[name, default: [:]][String(cString: rd_kafka_ConfigEntry_name(entry))] =
          String(cString: value)
      }
    }
    return result
  }
}
