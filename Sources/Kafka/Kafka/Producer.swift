import CRDKafka
import Dispatch
import Foundation
import Synchronization

/// An idempotent producer: `acks=all`, a delivery report for every record, a bounded local queue.
///
/// Thread-safe. Completions run on the producer's poll thread, or inside a call to `flush`, `close` or the `send` that
/// waits: they must not block or call any of these; they may send a record.
public final class Producer: Sendable {
  let client: Client
  private let context: ProducerContext
  private let pollThreadEnded = DispatchGroup()

  private struct Use {
    var isClosed = false
    /// Calls into librdkafka in progress; `close` waits for them before it frees the client.
    var callCount = 0
  }
  private let use = Mutex(Use())
  /// More records than this take about as long to queue as they would linger.
  private static let hurriedMax = 100

  /// Connects in the background; `connectionProblem` reports a broker that is down.
  ///
  /// Throws if a property is unknown or cannot be overridden.
  public init(configuration: ClientConfiguration) throws(KafkaError) {
    let context = ProducerContext(log: configuration.log)
    client = try Client(configuration, .producer, context: context) { conf in
      rd_kafka_conf_set_dr_msg_cb(conf) { _, message, _ in
        guard let message else { return }
        complete(message)
      }
      rd_kafka_conf_set_error_cb(conf) { _, code, reason, opaque in
        guard let opaque else { return }
        Unmanaged<ProducerContext>.fromOpaque(opaque).takeUnretainedValue()
          .note(rd_kafka_resp_err_t(code), reason.map { String(cString: $0) })
      }
    }
    self.context = context
    pollThreadEnded.enter()
    let thread = Thread { [client, context, pollThreadEnded] in
      client.fetchMetadata()
      var stall = Stall()
      while !context.shouldStop.load(ordering: .acquiring) {
        _ = rd_kafka_poll(client.pointer, 50)
        let delivered = context.deliveredCount.load(ordering: .relaxed)
        let isWaiting = rd_kafka_outq_len(client.pointer) > 0
        // Before 2.10, librdkafka retries a lost metadata request on the broker that has died.
        if stall.isLong(delivered: delivered, isWaiting: isWaiting) { client.fetchMetadata() }
      }
      pollThreadEnded.leave()
    }
    thread.name = "kafka-producer"
    thread.start()
  }

  deinit {
    if use.withLock({ $0.isClosed }) { return }
    // On a new thread: a completion may have held the last reference, on the poll thread.
    Thread.detachNewThread { [client, context, pollThreadEnded] in
      Producer.shutDown(client, context, pollThreadEnded)
    }
  }

  /// Queues a record. `completion` is called exactly once unless this throws.
  ///
  /// Throws immediately if the record cannot be queued: `code == .queueFull` if there is no room
  /// (`queue.buffering.max.messages`, `queue.buffering.max.kbytes`), `.recordTooLarge`, or a fatal
  /// error, after which the producer can only be closed.
  public func send(
    _ record: OutgoingRecord,
    completion: @escaping @Sendable (Result<Delivery, KafkaError>) -> Void
  ) throws(KafkaError) {
    guard begin() else { throw .closed("producer", bootstrap: client.bootstrap) }
    defer { end() }
    let code = produce(record, completion)
    if code != RD_KAFKA_RESP_ERR_NO_ERROR {
      throw client.error(code, failureText(code, topic: record.topic, isLocal: true))
    }
  }

  /// Produces all records and returns once every one is acknowledged. Waits for room in the queue.
  ///
  /// Throws the first failure, after every record is acknowledged or has failed; some may have been
  /// written. Bounded by `message.timeout.ms` (a minute unless overridden) and the queue's size.
  @discardableResult
  public func send(_ records: [OutgoingRecord]) throws(KafkaError) -> [Delivery] {
    let outcome = attempt(records)
    if let failure = outcome.failure { throw failure.error }
    return outcome.deliveries.compactMap { $0 }
  }

  /// Like `send`, but returns what became of each record instead of throwing.
  public func attempt(_ records: [OutgoingRecord]) -> SendOutcome {
    let answers = Answers(count: records.count)
    for (index, record) in records.enumerated() {
      var refused: KafkaError?
      while true {
        refused = nil
        do throws(KafkaError) {
          try send(record) { answers.put($0, at: index) }
        } catch {
          refused = error
        }
        guard refused?.code == .queueFull else { break }
        // Every queued record is acknowledged or fails within message.timeout.ms, which makes room.
        answers.waitForProgress(milliseconds: 10)
      }
      if let refused {
        answers.abandon(from: index, refused)
        break
      }
    }
    // A few records would only linger (`linger.ms`), because nothing follows them. Each call is short, because the
    // poll thread may take the answer that it waits for; there are few, because each wakes all connections.
    if records.count <= Self.hurriedMax {
      for _ in 0..<20 where answers.areMissing { flush(withinMilliseconds: 1) }
    }
    return answers.wait()
  }

  /// Whether `close` was called.
  public var isClosed: Bool { use.withLock { $0.isClosed } }

  /// The number of records in the local queue or sent but not yet acknowledged.
  public var undeliveredCount: Int {
    guard begin() else { return 0 }
    defer { end() }
    return Int(rd_kafka_outq_len(client.pointer))
  }

  /// Waits until every record sent so far is acknowledged or has failed. Returns the number still
  /// pending when the time is up.
  @discardableResult
  public func flush(withinMilliseconds: Int) -> Int {
    guard begin() else { return 0 }
    defer { end() }
    _ = rd_kafka_flush(client.pointer, Int32(clamping: withinMilliseconds))
    return Int(rd_kafka_outq_len(client.pointer))
  }

  /// The newest connection problem; nil once a record has been acknowledged since.
  public var connectionProblem: KafkaError? {
    guard begin() else { return nil }
    defer { end() }
    return context.problem.withLock { $0 }.map { client.error($0.code, $0.reason) }
  }

  /// Flushes up to the bound, fails the remaining records (with `.purgedFromQueue` or
  /// `.purgedInFlight`), and frees the client. Returns the number of records that were abandoned.
  @discardableResult
  public func close(withinMilliseconds: Int = 10_000) -> Int {
    let left = flush(withinMilliseconds: withinMilliseconds)
    let wasClosed = use.withLock { use in
      defer { use.isClosed = true }
      return use.isClosed
    }
    if wasClosed { return 0 }
    // No new call can begin, and every call is bounded.
    while use.withLock({ $0.callCount > 0 }) { Thread.sleep(forTimeInterval: 0.001) }
    Producer.shutDown(client, context, pollThreadEnded)
    return left
  }

  private func begin() -> Bool {
    use.withLock { use in
      if !use.isClosed { use.callCount += 1 }
      return !use.isClosed
    }
  }

  private func end() { use.withLock { $0.callCount -= 1 } }

  private static func shutDown(
    _ client: Client, _ context: ProducerContext, _ pollThreadEnded: DispatchGroup
  ) {
    // Fails all remaining records, so that every completion is called.
    _ = rd_kafka_purge(
      client.pointer, Int32(RD_KAFKA_PURGE_F_QUEUE) | Int32(RD_KAFKA_PURGE_F_INFLIGHT))
    _ = rd_kafka_flush(client.pointer, 2_000)
    context.shouldStop.store(true, ordering: .releasing)
    pollThreadEnded.wait()
    client.destroy(context: context, withinMilliseconds: 5_000)
  }

  private func produce(
    _ record: OutgoingRecord,
    _ completion: @escaping @Sendable (Result<Delivery, KafkaError>) -> Void
  ) -> rd_kafka_resp_err_t {
    let headers = makeHeaders(record.headers)
    let ticket = Unmanaged.passRetained(
      Ticket(bootstrap: client.bootstrap, context: context, completion: completion))
    let code = withBytes(record.key) { key in
      withBytes(record.value) { value in
        magpie_rd_kafka_produce(
          client.pointer, record.topic, record.partition ?? RD_KAFKA_PARTITION_UA, key.pointer,
          key.count, value.pointer, value.count, headers, record.timestampMilliseconds ?? 0,
          ticket.toOpaque())
      }
    }
    if code != RD_KAFKA_RESP_ERR_NO_ERROR {
      ticket.release()
      if let headers { rd_kafka_headers_destroy(headers) }
    }
    return code
  }
}

/// Measures how long records have waited without any acknowledgement.
private struct Stall {
  private var delivered = 0
  private var since = ContinuousClock.now

  /// True after three seconds without an acknowledgement, and every three seconds thereafter.
  mutating func isLong(delivered: Int, isWaiting: Bool) -> Bool {
    if !isWaiting || delivered != self.delivered {
      self.delivered = delivered
      since = .now
      return false
    }
    guard .now - since >= .seconds(3) else { return false }
    since = .now
    return true
  }
}

private func makeHeaders(_ headers: [Header]) -> OpaquePointer? {
  guard !headers.isEmpty else { return nil }
  let list = rd_kafka_headers_new(headers.count)
  for header in headers {
    withBytes(header.value) { value in
      _ = rd_kafka_header_add(list, header.name, -1, value.pointer, value.count)
    }
  }
  return list
}

/// nil becomes NULL; an empty array becomes a non-null pointer with length 0, which Kafka
/// distinguishes.
private func withBytes<T>(
  _ bytes: [UInt8]?, _ body: ((pointer: UnsafeRawPointer?, count: Int)) -> T
) -> T {
  guard let bytes else { return body((nil, 0)) }
  if bytes.isEmpty {
    return withUnsafeBytes(of: UInt8(0)) { body(($0.baseAddress, 0)) }
  }
  return bytes.withUnsafeBytes { body(($0.baseAddress, $0.count)) }
}
