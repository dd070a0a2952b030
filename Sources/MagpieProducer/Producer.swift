import Dispatch
public import Events
import Kafka

/// Publishes events for Magpie's workers: keys, headers and encoding as they expect them, each
/// event acknowledged by all in-sync replicas, retried without duplicates or reordering.
///
/// Thread-safe. One per process is enough, for as long as it lives: a client that a fatal error or an
/// acknowledgement that does not come has made useless is replaced. Memory is bounded: when `maxBufferedEvents` or
/// `maxBufferedBytes` are under way, publishing waits for room.
public final class Producer: Sendable {
  public let configuration: ProducerConfiguration
  private let kafka: LastingProducer
  private let buffer: Buffer

  /// Connects in the background; a broker that is away shows when publishing.
  ///
  /// - Throws: an error with the reason if a property is unknown or may not be changed.
  public init(_ configuration: ProducerConfiguration) throws {
    self.configuration = configuration
    var properties = [
      // Larger than our own buffer, so that this one is where callers wait.
      "queue.buffering.max.messages": "\(configuration.maxBufferedEvents + 1_000)",
      "queue.buffering.max.kbytes": "\(configuration.maxBufferedBytes / 512 + 8_192)",
    ]
    properties.merge(configuration.properties) { $1 }
    kafka = try LastingProducer(
      configuration: ClientConfiguration(
        bootstrap: configuration.bootstrap, clientID: configuration.source,
        properties: properties))
    buffer = Buffer(
      maxEvents: configuration.maxBufferedEvents, maxBytes: configuration.maxBufferedBytes)
  }

  /// Publishes an event and returns when Kafka has acknowledged it.
  ///
  /// Waits for room first; cancelling the task ends that wait, but not the one for an event
  /// already under way, which `message.timeout.ms` (a minute unless overridden) bounds.
  ///
  /// - Throws: ``PublishError``, or `CancellationError` while waiting for room.
  @discardableResult
  public func publish(_ event: Event) async throws -> Acknowledgement {
    let record = try encode(event)
    try await buffer.reserve(bytes: record.byteCount)
    let ticket = buffer.admit(event, bytes: record.byteCount)
    let result: Result<Delivery, KafkaError> = await withCheckedContinuation { continuation in
      send(record) { continuation.resume(returning: $0) }
    }
    buffer.settle(ticket)
    switch result {
    case .success(let delivery):
      return Acknowledgement(
        topic: record.topic, partition: delivery.partition, offset: delivery.offset)
    case .failure(let error):
      throw PublishError(error)
    }
  }

  /// Hands an event over and returns as soon as there is room for it. Whether it was delivered is
  /// told by the next ``flush(within:)``.
  ///
  /// - Throws: ``PublishError/invalid(_:)``; ``PublishError/flushNeeded`` when too many failures
  ///   have not been collected; `CancellationError` while waiting for room.
  public func enqueue(_ event: Event) async throws {
    let record = try encode(event)
    guard !kafka.isClosed else { throw PublishError.closed }
    guard buffer.hasRoomForFailures else { throw PublishError.flushNeeded }
    try await buffer.reserve(bytes: record.byteCount)
    let ticket = buffer.admit(event, bytes: record.byteCount)
    send(record) { [buffer] result in
      switch result {
      case .success: buffer.settle(ticket)
      case .failure(let error): buffer.settle(ticket, keeping: PublishError(error))
      }
    }
  }

  /// Waits until every event handed over before is acknowledged or has failed, up to the bound.
  ///
  /// Returns the enqueued events that failed since the last flush, each once, and all events still
  /// pending. Empty means: everything is in Kafka (except what `publish` threw for).
  public func flush(within bound: Duration) async -> [UndeliveredEvent] {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.buffer.waitUntilSettled() }
      group.addTask { try? await Task.sleep(for: bound) }
      await group.next()
      group.cancelAll()
    }
    return buffer.takeUndelivered()
  }

  /// Flushes, gives up what is left, and frees the connection. Returns what was not delivered.
  /// Later calls throw ``PublishError/closed``.
  public func close(within bound: Duration = .seconds(10)) async -> [UndeliveredEvent] {
    let undelivered = await flush(within: bound)
    await withCheckedContinuation { continuation in
      // Joins threads: not for the cooperative pool.
      DispatchQueue.global().async { [kafka] in
        kafka.close(withinMilliseconds: 0)
        continuation.resume()
      }
    }
    // What was pending has failed by now and has been told above.
    _ = buffer.takeUndelivered()
    return undelivered
  }

  private func encode(_ event: Event) throws -> OutgoingRecord {
    do throws(EventError) {
      let wire = try EventCodec.encode(event, as: configuration.contentType)
      return OutgoingRecord(
        topic: event.topic.name(prefix: configuration.topicPrefix), key: wire.key,
        value: wire.value,
        // The record's own time stays "now": by an old event's time, Kafka's retention would
        // delete the record as soon as it is written.
        headers: wire.headers.map { Header(name: $0.name, value: $0.value) })
    } catch {
      throw PublishError.invalid(error)
    }
  }

  /// Calls `completion` exactly once, also when the record is refused at once.
  private func send(
    _ record: OutgoingRecord,
    completion: @escaping @Sendable (Result<Delivery, KafkaError>) -> Void
  ) {
    do throws(KafkaError) {
      try kafka.send(record, completion: completion)
    } catch {
      completion(.failure(error))
    }
  }
}

extension PublishError {
  init(_ error: KafkaError) {
    switch error.code {
    case .closed: self = .closed
    // Given up by `close`; nothing is wrong with the event.
    case .purgedFromQueue, .purgedInFlight:
      self = .notDelivered(
        reason: error.description, isRetriable: true, mayHaveBeenWritten: error.mayHaveBeenWritten)
    default:
      self = .notDelivered(
        reason: error.description, isRetriable: error.isRetriable,
        mayHaveBeenWritten: error.mayHaveBeenWritten)
    }
  }
}
