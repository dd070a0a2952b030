import CRDKafka
import Foundation
import Synchronization

/// A producer for as long as a process lives. A client that is of no more use is replaced by a new one:
/// after a fatal error, which an idempotent client never gets over, and after a record that was not
/// acknowledged in time, because librdkafka may stay with a leader that has died.
///
/// The former client keeps the records that it has, until each is acknowledged or has failed. Records
/// of one key may so be written in another order than they were sent in. Thread-safe.
public final class LastingProducer: Sendable {
  private struct State {
    var current: Producer
    /// Former clients that still have records.
    var former: [Producer] = []
    var isClosed = false
  }

  private let configuration: ClientConfiguration
  private let state: Mutex<State>

  /// Connects in the background.
  ///
  /// Throws when a property is unknown or may not be changed.
  public init(configuration: ClientConfiguration) throws(KafkaError) {
    self.configuration = configuration
    state = Mutex(State(current: try Producer(configuration: configuration)))
  }

  /// `close` was called.
  public var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Puts a record in the local queue. `completion` is called exactly once unless this throws, under
  /// the conditions of `Producer.send`, and may send.
  ///
  /// Throws at once when the record cannot be queued, also after a fatal error: the next call has a
  /// new client.
  public func send(
    _ record: OutgoingRecord,
    completion: @escaping @Sendable (Result<Delivery, KafkaError>) -> Void
  ) throws(KafkaError) {
    let producer = state.withLock { $0.current }
    do throws(KafkaError) {
      try producer.send(record) { [weak self] result in
        if case .failure(let error) = result { self?.replace(producer, after: error) }
        completion(result)
      }
    } catch {
      replace(producer, after: error)
      throw error
    }
  }

  /// The newest connection problem; nil once a record was acknowledged since.
  public var connectionProblem: KafkaError? { state.withLock { $0.current }.connectionProblem }

  /// Waits up to the bound for records to be acknowledged, fails what is left, and frees the clients.
  /// Returns how many records were given up.
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

  /// Takes another client from now on, unless `producer` is a former one already.
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
    // Not here: this may be the client's own thread.
    Thread.detachNewThread { [weak self] in
      // Every record is answered within message.timeout.ms. What a fatal error has left is not sent.
      while !error.isFatal, producer.undeliveredCount > 0, self != nil {
        Thread.sleep(forTimeInterval: 0.2)
      }
      producer.close(withinMilliseconds: 0)
      self?.state.withLock { $0.former.removeAll { $0 === producer } }
    }
  }

  /// For tests: makes the present client useless.
  func raiseFatalError() {
    _ = rd_kafka_test_fatal_error(
      state.withLock { $0.current }.client.pointer, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
      "raised by a test")
  }
}
