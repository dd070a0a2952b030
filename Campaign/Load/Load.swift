import Foundation
import Kafka
import Synchronization

/// Produces a round's records at its rate, each until it is acknowledged, and knows which were.
/// Thread-safe.
final class Load: Sendable {
  /// A record that the broker said it has.
  struct Acknowledged: Sendable {
    var record: OutgoingRecord
    var partition: TopicPartition
    var offset: Int64
  }

  private struct State {
    var events: LoadEvents
    var sentCount = 0
    var startedAt: ContinuousClock.Instant?
    var isPaused = false
    var isEnding = false
    var isAbandoned = false
    var floodCount = 0
    /// To be sent once more: they were not acknowledged, and may be on the broker all the same.
    var again: [OutgoingRecord] = []
    var inFlight = 0
    var acknowledged: [Acknowledged] = []
    var ends: [TopicPartition: Int64] = [:]
    var failures = 0
    var problem: String?
  }

  private let state: Mutex<State>
  private let configuration: ClientConfiguration
  private let rate: Double
  private let ended = DispatchSemaphore(value: 0)

  init(_ plan: CampaignPlan, configuration: ClientConfiguration, prefix: String) {
    self.configuration = configuration
    rate = plan.rate
    state = Mutex(State(events: LoadEvents(plan, prefix: prefix)))
  }

  /// What must be there before anything else; returns when it is acknowledged.
  func begin() throws {
    let records = try state.withLock { try $0.events.beginnings() }
    let producer = try Producer(configuration: configuration)
    defer { producer.close() }
    let deliveries = try producer.send(records)
    for (record, delivery) in zip(records, deliveries) { note(record, delivery) }
  }

  /// Begins to produce, on a thread of its own.
  func start() {
    state.withLock { $0.startedAt = .now }
    Thread.detachNewThread { [self] in
      run()
      ended.signal()
    }
  }

  /// No new record until `resume`.
  func pause() { state.withLock { $0.isPaused = true } }

  func resume() { state.withLock { $0.isPaused = false } }

  /// So many records that cannot be decoded, at once.
  func flood(poison count: Int) { state.withLock { $0.floodCount += count } }

  /// Makes no more records and waits until all that were made are acknowledged.
  ///
  /// - Returns: whether they were within the bound.
  func finish(seconds: Double) -> Bool {
    state.withLock { $0.isEnding = true }
    return waitForEnd(seconds)
  }

  /// Gives up what is not acknowledged. May be called twice.
  func stop() {
    let wasStarted = state.withLock { state in
      state.isEnding = true
      state.isAbandoned = true
      return state.startedAt != nil
    }
    if wasStarted { _ = waitForEnd(30) }
  }

  var acknowledged: [Acknowledged] { state.withLock { $0.acknowledged } }
  var acknowledgedCount: Int { state.withLock { $0.acknowledged.count } }
  /// The offset after the last acknowledged record of each partition.
  var ends: [TopicPartition: Int64] { state.withLock { $0.ends } }
  /// How often a record had to be sent once more.
  var failures: Int { state.withLock { $0.failures } }
  /// Why no more records could be made; nil when all is well.
  var problem: String? { state.withLock { $0.problem } }

  private func waitForEnd(_ seconds: Double) -> Bool {
    guard ended.wait(timeout: .now() + seconds) == .success else { return false }
    ended.signal()
    return true
  }

  private func run() {
    var producer: Producer?
    while true {
      let (records, isOver) = due()
      if isOver { break }
      for (index, record) in records.enumerated() {
        do {
          let current = try producer ?? Producer(configuration: configuration)
          producer = current
          state.withLock { $0.inFlight += 1 }
          do {
            try current.send(record) { [self] result in answer(record, result) }
          } catch {
            state.withLock { $0.inFlight -= 1 }
            throw error
          }
        } catch {
          // The queue is full, or the producer is of no further use: all that it has is answered for.
          state.withLock { $0.again += records[index...] }
          if (error as? KafkaError)?.code != .queueFull {
            producer?.close(withinMilliseconds: 0)
            producer = nil
          }
          break
        }
      }
      Thread.sleep(forTimeInterval: 0.01)
    }
    producer?.close(withinMilliseconds: 0)
  }

  /// What is to be sent now; over when all is acknowledged and no more is wanted.
  private func due() -> (records: [OutgoingRecord], isOver: Bool) {
    state.withLock { state in
      if state.isAbandoned { return ([], true) }
      var records = state.again
      state.again = []
      do {
        for _ in 0..<state.floodCount { records.append(try state.events.poison()) }
        state.floodCount = 0
        if !state.isEnding, let start = state.startedAt {
          let wanted = Int((ContinuousClock.now - start) / .seconds(1) * rate)
          // What a pause held back is not made up for.
          if state.isPaused { state.sentCount = max(state.sentCount, wanted) }
          while state.sentCount < wanted {
            records.append(try state.events.next())
            state.sentCount += 1
          }
        }
      } catch {
        state.problem = "\(error)"
        state.isEnding = true
      }
      return (records, state.isEnding && records.isEmpty && state.inFlight == 0)
    }
  }

  private func answer(_ record: OutgoingRecord, _ result: Result<Delivery, KafkaError>) {
    switch result {
    case .success(let delivery): note(record, delivery)
    case .failure:
      state.withLock { state in
        state.again.append(record)
        state.failures += 1
      }
    }
    state.withLock { $0.inFlight -= 1 }
  }

  private func note(_ record: OutgoingRecord, _ delivery: Delivery) {
    let partition = TopicPartition(topic: record.topic, partition: delivery.partition)
    state.withLock { state in
      state.acknowledged.append(
        Acknowledged(record: record, partition: partition, offset: delivery.offset))
      state.ends[partition] = max(state.ends[partition] ?? 0, delivery.offset + 1)
    }
  }
}
