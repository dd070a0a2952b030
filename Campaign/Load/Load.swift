import Foundation
import Kafka
import Synchronization

/// Produces a round's records at its rate, retries each until it is acknowledged, and keeps track
/// of acknowledged ones. Thread-safe.
final class Load: Sendable {
  /// An acknowledged record.
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
    /// Records to send again: they were not acknowledged, but may be in the log.
    var unacknowledged: [OutgoingRecord] = []
    var inFlight = 0
    var acknowledged: [Acknowledged] = []
    var ends: [TopicPartition: Int64] = [:]
    var failures = 0
    var problem: String?
  }

  private let state: Mutex<State>
  private let configuration: ClientConfiguration
  private let rate: Double
  private let clock: HourClock
  private let ended = DispatchSemaphore(value: 0)

  /// - Parameter hooks: the beginning of webhooks' URLs.
  init(
    _ plan: CampaignPlan, clock: HourClock, hooks: String, configuration: ClientConfiguration,
    prefix: String
  ) {
    (self.configuration, self.clock) = (configuration, clock)
    rate = plan.rate
    state = Mutex(State(events: LoadEvents(plan, clock: clock, hooks: hooks, prefix: prefix)))
  }

  /// Produces the initial records and returns when they are acknowledged.
  func begin() throws {
    let records = try state.withLock { try $0.events.initialRecords() }
    let producer = try Producer(configuration: configuration)
    defer { producer.close() }
    let deliveries = try producer.send(records)
    for (record, delivery) in zip(records, deliveries) { note(record, delivery) }
  }

  /// Starts producing on a new thread.
  func start() {
    clock.start()
    state.withLock { $0.startedAt = .now }
    Thread.detachNewThread { [self] in
      run()
      ended.signal()
    }
  }

  /// Produces no new records until `resume`.
  func pause() { state.withLock { $0.isPaused = true } }

  func resume() { state.withLock { $0.isPaused = false } }

  /// Produces this many undecodable records immediately.
  func flood(poison count: Int) { state.withLock { $0.floodCount += count } }

  /// Stops producing new records and waits until all are acknowledged.
  ///
  /// - Returns: whether that happened within `seconds`.
  func finish(seconds: Double) -> Bool {
    state.withLock { $0.isEnding = true }
    return waitForEnd(seconds)
  }

  /// Gives up on unacknowledged records. May be called twice.
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
  /// How often a record had to be sent again.
  var failures: Int { state.withLock { $0.failures } }
  /// The error that prevented producing more records; nil if there was none.
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
          // The queue is full, or the producer has failed; its callbacks report the records that it
          // has.
          state.withLock { $0.unacknowledged += records[index...] }
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

  /// The records to send now. It is over when all are acknowledged and no more are wanted.
  private func due() -> (records: [OutgoingRecord], isOver: Bool) {
    state.withLock { state in
      if state.isAbandoned { return ([], true) }
      var records = state.unacknowledged
      state.unacknowledged = []
      do {
        for _ in 0..<state.floodCount { records.append(try state.events.poison()) }
        state.floodCount = 0
        if !state.isEnding, let start = state.startedAt {
          let wanted = Int((ContinuousClock.now - start) / .seconds(1) * rate)
          // Records skipped during a pause are not made up for.
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
        state.unacknowledged.append(record)
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
