import Kafka
import Postgres
import Synchronization

/// Samples the stored offsets and the workers during the round: checks safety continuously and
/// measures recovery times. Thread-safe.
final class Sampler: Sendable {
  /// A partition as consumed by one group.
  struct Place: Hashable, Sendable {
    var group: String
    var partition: TopicPartition
  }

  struct Stored: Equatable, Sendable {
    var nextOffset: Int64
    var epoch: Int64
  }

  /// The offsets to reach before a fault counts as recovered from.
  struct Recovery: Sendable {
    var kind: FaultKind
    var injectedAt: ContinuousClock.Instant
    var healedAt: ContinuousClock.Instant
    var ends: [TopicPartition: Int64]
    var seconds: Double?
  }

  /// The sum of all stored offsets at one moment.
  struct Progress: Sendable {
    var at: ContinuousClock.Instant
    var applied: Int64
  }

  private struct State {
    var violations: [String] = []
    var stored: [Place: Stored] = [:]
    var recoveries: [Recovery] = []
    var progress: [Progress] = []
    /// The latest metrics of each process.
    var metrics: [String: [String: Double]] = [:]
    var figures: [String: (age: Double, ProcessFigures)] = [:]
    /// The HTTP port of each process.
    var ports: [String: UInt16] = [:]
  }

  private let state = Mutex(State())
  private let workers: [WorkerProcess]

  init(_ workers: [WorkerProcess]) { self.workers = workers }

  /// Starts measuring a fault's recovery, which lasts until everything below `ends` is applied.
  func expectRecovery(
    from kind: FaultKind, injectedAt: ContinuousClock.Instant, ends: [TopicPartition: Int64]
  ) {
    let recovery = Recovery(kind: kind, injectedAt: injectedAt, healedAt: .now, ends: ends)
    state.withLock { $0.recoveries.append(recovery) }
  }

  var violations: [String] { state.withLock { $0.violations } }
  var recoveries: [Recovery] { state.withLock { $0.recoveries } }
  var progress: [Progress] { state.withLock { $0.progress } }

  /// The sum of a counter over all processes, as of each one's last scrape.
  func total(_ series: String) -> Int {
    state.withLock { state in
      Int(
        state.metrics.values.reduce(0.0) { total, values in
          values.reduce(total) { $1.key.hasPrefix(series) ? $0 + $1.value : $0 }
        })
    }
  }

  /// The last resource sample of each process, by identity, with the process's age in seconds.
  var figures: [String: (age: Double, ProcessFigures)] { state.withLock { $0.figures } }

  /// Samples the stored offsets.
  func look(_ connection: Connection) throws {
    let rows = try connection.query(
      "SELECT consumer_group, topic, partition, next_offset, owner_epoch FROM consumer_offsets")
    var found: [Place: Stored] = [:]
    for row in rows {
      let partition = TopicPartition(topic: try row.text(1), partition: Int32(try row.int(2)))
      found[Place(group: try row.text(0), partition: partition)] = Stored(
        nextOffset: try row.int8(3), epoch: try row.int8(4))
    }
    state.withLock { state in
      for (place, before) in state.stored {
        let now = found[place]
        if let now, now.nextOffset >= before.nextOffset, now.epoch >= before.epoch { continue }
        state.violations.append(
          "\(place.group) \(place.partition) was at \(before.nextOffset) under "
            + "epoch \(before.epoch), and then "
            + (now.map { "at \($0.nextOffset) under epoch \($0.epoch)" } ?? "missing"))
      }
      state.stored = found
      let applied = found.values.reduce(0) { $0 + $1.nextOffset }
      state.progress.append(Progress(at: .now, applied: applied))
      for index in state.recoveries.indices where state.recoveries[index].seconds == nil {
        let recovery = state.recoveries[index]
        let isOver = found.allSatisfy { place, stored in
          stored.nextOffset >= recovery.ends[place.partition] ?? 0
        }
        if isOver {
          state.recoveries[index].seconds = (ContinuousClock.now - recovery.healedAt) / .seconds(1)
        }
      }
    }
  }

  /// Scrapes the running processes.
  func scrape() {
    for worker in workers {
      guard let current = worker.current, current.child.isRunning, !current.isSuspended else {
        continue
      }
      let age = (ContinuousClock.now - current.startedAt) / .seconds(1)
      if let figures = ProcessFigures(current.child.processID), current.child.isRunning {
        state.withLock { $0.figures[current.identity] = (age, figures) }
      }
      let port =
        state.withLock { $0.ports[current.identity] } ?? WorkerMetrics.port(inLog: current.log)
      guard let port else { continue }
      state.withLock { $0.ports[current.identity] = port }
      if let values = WorkerMetrics.scrape(port: port) {
        state.withLock { $0.metrics[current.identity] = values }
      }
    }
  }
}
