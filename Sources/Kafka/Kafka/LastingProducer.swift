import CRDKafka
import Foundation
import Synchronization

/// A producer that survives the loss of its client. It replaces the client after a fatal error,
/// from which an idempotent client never recovers, and after a record that was not acknowledged in
/// time, because librdkafka may stay with a dead leader.
///
/// The former client keeps its records until each is acknowledged or fails, so records with the
/// same key may be written in a different order than they were sent. Thread-safe.
public final class LastingProducer: Sendable {
  private struct State {
    var current: Producer
    /// Former clients that still hold records.
    var former: [Producer] = []
    var isClosed = false
  }

  private let configuration: ClientConfiguration
  private let state: Mutex<State>

  /// Connects in the background.
  ///
  /// Throws if a property is unknown or cannot be overridden.
  public init(configuration: ClientConfiguration) throws(KafkaError) {
    self.configuration = configuration
    state = Mutex(State(current: try Producer(configuration: configuration)))
  }

  /// Queues a record. `completion` is called exactly once unless this throws, under the conditions
  /// of `Producer.send`; it may send.
  ///
  /// Throws immediately if the record cannot be queued, also after a fatal error; the next call
  /// uses a new client, so the error is retriable if a new client mends it.
  public func send(
    _ record: OutgoingRecord,
    completion: @escaping @Sendable (Result<Delivery, KafkaError>) -> Void
  ) throws(KafkaError) {
    try send(record, with: current, completion: completion)
  }

  /// - Parameter producer: the current client, which another thread may have replaced and closed since.
  func send(
    _ record: OutgoingRecord, with producer: Producer,
    completion: @escaping @Sendable (Result<Delivery, KafkaError>) -> Void
  ) throws(KafkaError) {
    do throws(KafkaError) {
      try producer.send(record) { [weak self] result in
        if case .failure(let error) = result { self?.replace(producer, after: error) }
        completion(result.mapError(\.forCallerOfLastingProducer))
      }
    } catch {
      replace(producer, after: error)
      let next = state.withLock { $0.isClosed || $0.current === producer ? nil : $0.current }
      guard error.code == .closed, let next else {
        throw error.forCallerOfLastingProducer
      }
      try send(record, with: next, completion: completion)
    }
  }

  /// The newest connection problem; nil once a record has been acknowledged since.
  public var connectionProblem: KafkaError? { current.connectionProblem }

  /// Waits up to the bound for acknowledgements, fails the remaining records, and frees the
  /// clients. Returns the number of records that were abandoned.
  @discardableResult
  public func close(withinMilliseconds: Int = 10_000) -> Int {
    let producers = state.withLock { state in
      state.isClosed = true
      return state.former + [state.current]
    }
    let deadline = Deadline(milliseconds: withinMilliseconds)
    return producers.reduce(0) {
      $0 + $1.close(withinMilliseconds: deadline.remainingMilliseconds)
    }
  }

  /// Replaces the current client, unless `producer` is already a former one.
  private func replace(_ producer: Producer, after error: KafkaError) {
    guard error.isFatal || error.code == .messageTimedOut else { return }
    let isReplaced = state.withLock { state in
      guard !state.isClosed, state.current === producer,
        let next = try? Producer(configuration: configuration)
      else { return false }
      state.former.append(producer)
      state.current = next
      return true
    }
    guard isReplaced else { return }
    // On a new thread, because this may be the client's own poll thread.
    Thread.detachNewThread { [weak self] in
      // Every record is acknowledged or fails within message.timeout.ms. After a fatal error the
      // remaining records are not sent.
      while !error.isFatal, producer.undeliveredCount > 0, self != nil {
        Thread.sleep(forTimeInterval: 0.2)
      }
      producer.close(withinMilliseconds: 0)
      self?.state.withLock { $0.former.removeAll { $0 === producer } }
    }
  }

  /// The client that sends new records.
  var current: Producer { state.withLock { $0.current } }

  /// For tests: raises a fatal error in the current client.
  func raiseFatalError() {
    _ = rd_kafka_test_fatal_error(
      current.client.pointer, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
      "raised by a test")
  }
}

extension KafkaError {
  /// The same error, retriable if the client has lost its sequence: the next client starts a new one.
  fileprivate var forCallerOfLastingProducer: KafkaError {
    let lost: [Code] = [
      .outOfOrderSequence, .unknownProducer, .invalidProducerEpoch,
      Code(RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE), Code(RD_KAFKA_RESP_ERR__INCONSISTENT),
    ]
    return lost.contains(code) ? asRetriable : self
  }
}
