import Dispatch
public import Events
import Kafka

/// Publishes events for Magpie's workers with the keys, headers and encoding that they expect.
/// Every event is acknowledged by all in-sync replicas and retried without duplicates.
///
/// Thread-safe. One producer serves a process for its whole life: it replaces its Kafka client
/// after a fatal error or a missing acknowledgement. Events with the same key may be reordered when
/// that happens. Memory is bounded: at `maxBufferedEvents` or `maxBufferedBytes`, publishing waits
/// for room.
public final class Producer: Sendable {
  /// What the producer was made with. Bounds beyond what can be counted are as they were given.
  public let configuration: ProducerConfiguration
  private let kafka: LastingProducer
  private let buffer: Buffer

  /// Connects in the background; publishing reports a broker that is down.
  ///
  /// - Throws: an error with the reason if a property is unknown or cannot be overridden.
  public init(_ configuration: ProducerConfiguration) throws {
    self.configuration = configuration
    let events = min(max(1, configuration.maxBufferedEvents), 2_000_000_000)
    let bytes = min(max(1, configuration.maxBufferedBytes), 1 << 40)
    var properties = [
      // Larger than `Buffer`, so that callers wait there. librdkafka's greatest number is that of 32 bits.
      "queue.buffering.max.messages": "\(events + 1_000)",
      "queue.buffering.max.kbytes": "\(min(bytes / 512 + 8_192, Int(Int32.max)))",
    ]
    properties.merge(configuration.properties) { $1 }
    kafka = try LastingProducer(
      configuration: ClientConfiguration(
        bootstrap: configuration.bootstrap, clientID: configuration.source,
        properties: properties))
    buffer = Buffer(maxEvents: events, maxBytes: bytes)
  }

  /// Publishes an event and returns once Kafka has acknowledged it.
  ///
  /// Waits for room first. Cancelling the task ends that wait, but not the wait for the
  /// acknowledgement, which `message.timeout.ms` (a minute unless overridden) bounds.
  ///
  /// - Throws: ``PublishError``, or `CancellationError` while waiting for room.
  @discardableResult
  public func publish(_ event: Event) async throws -> Acknowledgement {
    let record = try encode(event)
    let ticket = try await buffer.admit(event, bytes: record.byteCount)
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

  /// Queues an event and returns as soon as there is room for it. The next ``flush(within:)``
  /// reports whether it was delivered.
  ///
  /// - Throws: ``PublishError/invalid(_:)``; ``PublishError/flushNeeded`` if too many failures have
  ///   not been collected; ``PublishError/closed``; `CancellationError` if cancelled while waiting for room.
  public func enqueue(_ event: Event) async throws {
    let record = try encode(event)
    guard buffer.hasRoomForFailures else { throw PublishError.flushNeeded }
    let ticket = try await buffer.admit(event, bytes: record.byteCount)
    send(record) { [buffer] result in
      switch result {
      case .success: buffer.settle(ticket)
      case .failure(let error): buffer.settle(ticket, keeping: PublishError(error))
      }
    }
  }

  /// Waits until every event queued so far is acknowledged or has failed, up to the bound. Cancelling the task does not
  /// end the wait.
  ///
  /// Returns the enqueued events that failed since the last flush, each once, and all events still
  /// pending. An empty result means that all events are in Kafka, except those for which `publish`
  /// threw.
  public func flush(within bound: Duration) async -> [UndeliveredEvent] {
    // In a task of its own: a caller that shuts down is often cancelled.
    await Task {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await self.buffer.waitUntilSettled() }
        group.addTask { try? await Task.sleep(for: bound) }
        await group.next()
        group.cancelAll()
      }
    }.value
    return buffer.takeUndelivered()
  }

  /// Flushes, abandons the remaining events, and frees the connection. Returns the events that were
  /// not delivered. Later calls throw ``PublishError/closed``, and so do those that wait for room.
  public func close(within bound: Duration = .seconds(10)) async -> [UndeliveredEvent] {
    // From now on no event is accepted, so the flush reports all that were.
    buffer.close()
    let undelivered = await flush(within: bound)
    await withCheckedContinuation { continuation in
      // Joins threads, which must not block the cooperative pool.
      DispatchQueue.global().async { [kafka] in
        kafka.close(withinMilliseconds: 0)
        continuation.resume()
      }
    }
    // Events that were pending have failed by now; the result already contains them.
    _ = buffer.takeUndelivered()
    return undelivered
  }

  private func encode(_ event: Event) throws -> OutgoingRecord {
    do throws(EventError) {
      // The record's own timestamp stays "now": with an old event's time, Kafka's retention would
      // delete the record immediately.
      return OutgoingRecord(
        topic: event.topic.name(prefix: configuration.topicPrefix),
        wire: try EventCodec.encode(event, as: configuration.contentType))
    } catch {
      throw PublishError.invalid(error)
    }
  }

  /// Calls `completion` exactly once, even if the record is rejected immediately.
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
    // Abandoned by `close`; nothing is wrong with the event.
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
