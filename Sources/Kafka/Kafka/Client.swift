import CRDKafka
import Dispatch
import Foundation
import Synchronization

/// An `rd_kafka_t`. `@unchecked Sendable`: librdkafka is thread-safe, and the pointer never
/// changes.
struct Client: @unchecked Sendable {
  let pointer: OpaquePointer
  let bootstrap: String

  /// The state that librdkafka's callbacks reach through the client's opaque pointer. It must
  /// outlive the client.
  class Context {
    let log: (@Sendable (Int, String, String) -> Void)?
    /// The problem with the broker certificate that was verified last, if any.
    let certificateProblem = Mutex<String?>(nil)
    let refusals = Mutex(Refusals())

    init(log: (@Sendable (Int, String, String) -> Void)?) { self.log = log }

    /// Records a refusal if the log line reports one.
    func note(facility: String, _ line: String) {
      guard facility == "FAIL" else { return }
      let certificate = certificateProblem.withLock { $0 }
      guard let refusal = Refusal(line, certificate: certificate) else { return }
      refusals.withLock { $0.note(refusal, at: .now) }
    }

    /// The newest refusal by any broker, unless it has expired.
    var refusal: Refusal? { refusals.withLock { $0.current(at: .now) } }
  }

  /// - Parameter prepare: sets callbacks, which get `context` through the opaque pointer.
  init(
    _ configuration: ClientConfiguration, _ role: ClientConfiguration.Role, context: Context,
    prepare: (OpaquePointer) -> Void = { _ in }
  ) throws(KafkaError) {
    let conf = try configuration.makeConf(role)
    rd_kafka_conf_set_opaque(conf, Unmanaged.passUnretained(context).toOpaque())
    rd_kafka_conf_set_log_cb(conf) { client, level, facility, line in
      guard let client, let opaque = rd_kafka_opaque(client), let facility, let line else {
        return
      }
      let (name, text) = (String(cString: facility), String(cString: line))
      // Logged for every broker before its version is known. Consumers check topics before they
      // subscribe, so the warning does not apply.
      guard name != "AUTOCREATE" else { return }
      let context = Unmanaged<Context>.fromOpaque(opaque).takeUnretainedValue()
      context.note(facility: name, text)
      if let log = context.log {
        log(Int(level), name, text)
      } else {
        // The line may contain text from a broker.
        let line = String(text.map { $0.unicodeScalars.allSatisfy { $0.value >= 0x20 } ? $0 : "?" })
        // A line that cannot be written is lost; `FileHandle` would end the process.
        let bytes = Array("librdkafka: \(name): \(line)\n".utf8)
        _ = Foundation.write(STDERR_FILENO, bytes, bytes.count)
      }
    }
    // Does not change which certificates are trusted; only records why one is rejected, which
    // librdkafka does not report.
    rd_kafka_conf_set_ssl_cert_verify_cb(conf) {
      _, _, _, error, depth, _, _, reason, size, opaque in
      guard let error, let opaque else { return 0 }
      let problem = error.pointee == 0 ? nil : certificateProblem(error.pointee, depth: depth)
      Unmanaged<Context>.fromOpaque(opaque).takeUnretainedValue()
        .certificateProblem.withLock { $0 = problem ?? (depth == 0 ? nil : $0) }
      guard let problem else { return 1 }
      // Every text is shorter than librdkafka's 512 bytes.
      for (index, byte) in problem.utf8CString.prefix(size).enumerated() { reason?[index] = byte }
      return 0
    }
    prepare(conf)
    let type =
      switch role {
      case .consumer: RD_KAFKA_CONSUMER
      case .producer: RD_KAFKA_PRODUCER
      }
    var reason = [CChar](repeating: 0, count: 512)
    guard let pointer = rd_kafka_new(type, conf, &reason, reason.count) else {
      rd_kafka_conf_destroy(conf)
      throw .usage(
        "the Kafka client could not be created: \(text(of: reason))",
        bootstrap: configuration.bootstrap)
    }
    self.pointer = pointer
    bootstrap = configuration.bootstrap
  }

  /// Destroys the client on a separate thread, because `rd_kafka_destroy` waits without a bound for
  /// its broker threads. Returns false if that exceeds the bound; the thread then continues in the
  /// background and keeps `context` alive.
  @discardableResult
  func destroy(context: Context, withinMilliseconds bound: Int) -> Bool {
    let done = DispatchSemaphore(value: 0)
    nonisolated(unsafe) let context = context  // The thread only keeps it alive.
    Thread.detachNewThread {
      rd_kafka_destroy_flags(pointer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
      withExtendedLifetime(context) {}
      done.signal()
    }
    return done.wait(timeout: .now() + .milliseconds(bound)) == .success
  }

  /// Fetches the metadata of all topics, waiting at most 500 ms.
  ///
  /// Otherwise the first record of a topic, if produced while the first broker connects, waits for
  /// a timer of librdkafka that fires once a second (measured: one start in seven).
  func fetchMetadata() {
    var metadata: UnsafePointer<rd_kafka_metadata>?
    if rd_kafka_metadata(pointer, 1, nil, &metadata, 500) == RD_KAFKA_RESP_ERR_NO_ERROR {
      rd_kafka_metadata_destroy(metadata)
    }
  }

  var context: Context? {
    rd_kafka_opaque(pointer).map { Unmanaged<Context>.fromOpaque($0).takeUnretainedValue() }
  }

  func error(_ code: rd_kafka_resp_err_t, _ message: String? = nil) -> KafkaError {
    guard code == RD_KAFKA_RESP_ERR__FATAL else {
      return KafkaError(code, message, bootstrap: bootstrap).explained(by: context?.refusal)
    }
    // `_FATAL` stands for the code that this call returns.
    var reason = [CChar](repeating: 0, count: 512)
    let cause = rd_kafka_fatal_error(pointer, &reason, reason.count)
    return KafkaError(
      cause == RD_KAFKA_RESP_ERR_NO_ERROR ? code : cause, text(of: reason), bootstrap: bootstrap,
      isFatal: true)
  }
}

/// Passes `body` a C list of partitions with offsets and destroys it afterwards. A list that is not
/// destroyed makes `rd_kafka_destroy` hang.
func withPartitionList<T, E: Error>(
  _ offsets: some Sequence<(key: TopicPartition, value: Int64)>,
  _ body: (UnsafeMutablePointer<rd_kafka_topic_partition_list_t>) throws(E) -> T
) throws(E) -> T {
  guard let list = rd_kafka_topic_partition_list_new(8) else {
    preconditionFailure("librdkafka could not allocate a partition list")
  }
  defer { rd_kafka_topic_partition_list_destroy(list) }
  for (partition, offset) in offsets {
    rd_kafka_topic_partition_list_add(list, partition.topic, partition.partition).pointee.offset =
      offset
  }
  return try body(list)
}

/// As above, with partitions that have no offsets.
func withPartitionList<T, E: Error>(
  of partitions: some Sequence<TopicPartition>,
  _ body: (UnsafeMutablePointer<rd_kafka_topic_partition_list_t>) throws(E) -> T
) throws(E) -> T {
  try withPartitionList(
    partitions.map { (key: $0, value: Int64(RD_KAFKA_OFFSET_INVALID)) }, body)
}

extension UnsafeMutablePointer<rd_kafka_topic_partition_list_t> {
  /// A copy of the list's elements.
  var elements: [rd_kafka_topic_partition_t] {
    Array(UnsafeBufferPointer(start: pointee.elems, count: Int(pointee.cnt)))
  }

  var partitions: [TopicPartition] { elements.map(\.topicPartition) }
}

extension rd_kafka_topic_partition_t {
  var topicPartition: TopicPartition {
    TopicPartition(topic: String(cString: topic), partition: partition)
  }
}
