import Events
import Foundation
import Kafka
import Synchronization

/// Sends events in order and counts acknowledgements. Uses bounded memory: waits while the producer's
/// queue is full.
///
/// Uses the Kafka producer instead of MagpieProducer, to report the number of acknowledgements while
/// sending, and the line that failed.
final class EventSender: Sendable {
  struct Outcome: Sendable {
    var sent = 0
    var acknowledged = 0
    /// Acknowledged or failed.
    var settled = 0
    /// The first failure, with the number of its event.
    var failure: (number: Int, error: KafkaError)?
    /// The delivery of the last acknowledged event.
    var last: Delivery?

    var undelivered: Int { sent - acknowledged }
  }

  private let producer: LastingProducer
  private let prefix: String
  private let bootstrap: String
  private let outcome = Mutex(Outcome())

  /// - Throws: `Failure` if topics are missing, because some brokers would create them with the wrong
  ///   settings.
  init(configuration: ClientConfiguration, prefix: String) throws {
    let names = Topic.allCases.map { $0.name(prefix: prefix) }
    let present = try Admin(configuration: configuration).topics(
      names, graceMilliseconds: Admin.newTopicGraceMilliseconds)
    let missing = names.filter { present[$0] == nil }
    guard missing.isEmpty else {
      throw Failure(
        .unavailable,
        "Kafka at \(configuration.bootstrap) lacks \(missing.joined(separator: ", ")). Run: magpie "
          + "topics (or is --topic-prefix wrong, or may the Kafka user not Describe them?)")
    }
    var configuration = configuration
    // `send` retries twice after this, each time with another client.
    configuration.properties.merge(["message.timeout.ms": "20000"]) { own, _ in own }
    producer = try LastingProducer(configuration: configuration)
    bootstrap = configuration.bootstrap
    self.prefix = prefix
  }

  /// The current counts.
  var progress: Outcome { outcome.withLock { $0 } }

  /// Queues one event.
  ///
  /// - Parameter number: for error messages, such as the line number.
  /// - Throws: `EventError` if no consumer would accept it; `Failure` once an event before it could
  ///   not be delivered.
  func send(_ event: Event, number: Int) throws {
    let record = OutgoingRecord(
      topic: event.topic.name(prefix: prefix), wire: try EventCodec.encode(event))
    while true {
      try stopAfterFailure()
      do throws(KafkaError) {
        try send(record, number, attemptsLeft: 2)
        outcome.withLock { $0.sent += 1 }
        return
      } catch {
        guard error.code == .queueFull else { throw error }
        // Deliveries make room in the queue.
        Thread.sleep(forTimeInterval: 0.005)
      }
    }
  }

  /// Sends a record, and again if no acknowledgement arrives in time: another broker may lead the
  /// partition by then, and consumers drop duplicates.
  private func send(_ record: OutgoingRecord, _ number: Int, attemptsLeft: Int) throws(KafkaError) {
    try producer.send(record) { [weak self] result in
      guard let self else { return }
      if case .failure(let error) = result, error.code == .messageTimedOut, attemptsLeft > 0,
        (try? send(record, number, attemptsLeft: attemptsLeft - 1)) != nil
      {
        return
      }
      note(result, number)
    }
  }

  /// Waits for all acknowledgements until none arrives for `seconds`, then closes the producer.
  func finish(seconds: Int = 60) -> Outcome {
    var (last, since) = (-1, ContinuousClock.now)
    while true {
      let outcome = progress
      if outcome.settled == outcome.sent || .now - since > .seconds(seconds) { break }
      if outcome.settled != last { (last, since) = (outcome.settled, .now) }
      Thread.sleep(forTimeInterval: 0.01)
    }
    _ = producer.close(withinMilliseconds: 0)
    return progress
  }

  /// The error if not all events were delivered.
  static func failure(_ outcome: Outcome) -> Failure? {
    guard outcome.undelivered > 0 else { return nil }
    let count = "\(outcome.undelivered) of \(outcome.sent) events were not acknowledged"
    // Records that `finish` abandons fail as purged.
    guard let first = outcome.failure,
      first.error.code != .purgedFromQueue, first.error.code != .purgedInFlight
    else {
      return Failure(
        .unavailable, count + " in time. Sending the same events again does no harm.")
    }
    let cause = Failure(first.error)
    return Failure(
      cause.code,
      "\(count), the first of them number \(first.number): \(cause.message) It is safe to send the same "
        + "events again.")
  }

  private func note(_ result: Result<Delivery, KafkaError>, _ number: Int) {
    outcome.withLock { outcome in
      outcome.settled += 1
      switch result {
      case .success(let delivery):
        outcome.acknowledged += 1
        outcome.last = delivery
      case .failure(let error):
        if outcome.failure == nil { outcome.failure = (number, error) }
      }
    }
  }

  private func stopAfterFailure() throws {
    guard progress.failure != nil else { return }
    let outcome = finish(seconds: 5)
    throw Self.failure(outcome) ?? Failure(.unavailable, "Sending stopped.")
  }
}
