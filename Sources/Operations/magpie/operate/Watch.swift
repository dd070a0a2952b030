import Events
import Foundation
import Gateway
import Kafka
import Postgres
import Rebuild
import Synchronization

/// Samples PostgreSQL, Kafka and the processes periodically, once for all open pages, and keeps an
/// hour of samples. Thread-safe.
final class Watch: Sendable {
  private struct State: Sendable {
    var samples: [Sample] = []
    var number = 0
    var processes: [ProcessLook] = []
    var processesAt: ContinuousClock.Instant?
    /// Nil before the first sample, and if PostgreSQL did not answer for the newest one.
    var tables: Tables?
    /// Why PostgreSQL or Kafka could not be queried.
    var problem: String?
    var lastAsked: ContinuousClock.Instant?
  }

  /// The state of PostgreSQL and Kafka at one sample.
  private struct Tables: Sendable {
    /// Nil if no broker answered.
    var report: LagReport?
    var problem: String?
    var openDeadLetters: Int64
    var offsets: [String: [TopicPartition: StoredOffset]]
    var rebuilds: [RebuildState]
  }

  /// An hour of samples while somebody uses the pages.
  private static let samplesMax = 720
  /// The sampling interval, and the longer one that applies after two minutes without requests.
  private static let interval = Duration.seconds(5)
  private static let idleInterval = Duration.seconds(30)
  private static let idleAfter = Duration.seconds(120)
  private static let kafkaMilliseconds = 3000

  private let pool: ConnectionPool
  private let admin: Admin
  private let prefix: String
  private let sources: [MetricsSource]
  private let state = Mutex(State())

  init(pool: ConnectionPool, admin: Admin, prefix: String, sources: [MetricsSource]) {
    (self.pool, self.admin, self.prefix, self.sources) = (pool, admin, prefix, sources)
  }

  /// Samples periodically until the task is cancelled.
  func run() async {
    var last: ContinuousClock.Instant?
    while !Task.isCancelled {
      let asked = state.withLock { $0.lastAsked }
      let isIdle = asked.map { .now - $0 > Self.idleAfter } ?? true
      if last.map({ .now - $0 >= (isIdle ? Self.idleInterval : Self.interval) }) ?? true {
        last = .now
        await look()
      }
      try? await Task.sleep(for: .milliseconds(250))
    }
  }

  private func look() async {
    async let looking = ProcessLook.all(sources)
    let tables: Result<Tables, any Error>
    do {
      tables = .success(try await readTables())
    } catch {
      tables = .failure(error)
    }
    let processes = await looking
    let now = ContinuousClock.now
    state.withLock { state in
      state.number += 1
      let found = try? tables.get()
      var sample = Sample(
        number: state.number, time: (Date().timeIntervalSince1970 * 1000).rounded() / 1000,
        processes: processes)
      if let found {
        sample.openDeadLetters = found.openDeadLetters
        sample.note(found.offsets, found.report, prefix: prefix)
      }
      if let before = state.processesAt {
        sample.compare(
          processes, with: state.processes, after: max(0.1, (now - before) / .seconds(1)))
      }
      state.samples.append(sample)
      if state.samples.count > Self.samplesMax { state.samples.removeFirst() }
      (state.processes, state.processesAt) = (processes, now)
      state.tables = found
      switch tables {
      case .success(let tables): state.problem = tables.problem
      case .failure(let error): state.problem = "\(error)"
      }
    }
  }

  private func readTables() async throws -> Tables {
    try await pool.read { [admin, prefix] connection in
      let open = try connection.query(
        "SELECT count(*) FROM dead_letters WHERE state = 'open' AND starts_with(topic, $1)",
        [.text(prefix)])
      var tables = Tables(
        openDeadLetters: try open.only.int8(0), offsets: try StoredOffset.read(connection),
        // A rebuild that is dropped during the query counts as none.
        rebuilds: (try? RebuildState.all(connection)) ?? [])
      do {
        tables.report = try LagReport.measure(
          connection, admin, prefix: prefix, timeoutMilliseconds: Self.kafkaMilliseconds)
      } catch let error as KafkaError {
        // Keep the data of PostgreSQL: it matters most when Kafka is unavailable.
        tables.problem = "Kafka: \(error.message)"
      }
      return tables
    }
  }

  /// Returns the contents of the first page.
  ///
  /// - Parameter number: the number of the newest sample that the page has.
  func overview(after number: Int) -> Overview {
    state.withLock { state in
      state.lastAsked = .now
      let report = state.tables?.report
      return Overview(
        // A page with a higher number got its samples from a previous process.
        samples: state.samples.filter { number > state.number || $0.number > number },
        isNew: number > state.number, interval: Self.interval / .seconds(1),
        processes: state.processes.map(\.shown), pending: report?.pending,
        openDeadLetters: state.tables?.openDeadLetters,
        missingTopics: report?.missingTopics ?? [],
        unanswered: report?.unanswered.map(\.description) ?? [],
        cutOff: report?.partitions.filter(\.isCutOff).map {
          "\($0.group): \($0.topic)/\($0.partition)"
        } ?? [],
        overdueReminders: state.processes.compactMap { $0.metrics?.overdueReminders }.max(),
        rebuilds: state.tables?.rebuilds ?? [], problem: state.problem)
    }
  }

  /// Every partition of every group as of the newest sample; without Kafka, only those with a
  /// stored offset.
  func offsets() -> [ShownOffset] {
    state.withLock { state in
      state.lastAsked = .now
      let stored = state.tables?.offsets ?? [:]
      let partitions = state.tables?.report?.partitions ?? Self.partitions(stored)
      return partitions.map { partition in
        let place = TopicPartition(topic: partition.topic, partition: partition.partition)
        let offset = stored[partition.group]?[place]
        return ShownOffset(
          partition: partition, ownerEpoch: offset?.epoch, movedAt: offset?.movedAt.rfc3339)
      }
    }
  }

  private static func partitions(
    _ stored: [String: [TopicPartition: StoredOffset]]
  ) -> [LagReport.Partition] {
    var partitions: [LagReport.Partition] = []
    for (group, offsets) in stored.sorted(by: { $0.key < $1.key }) {
      for (place, offset) in offsets.sorted(by: { $0.key < $1.key }) {
        partitions.append(
          LagReport.Partition(group: group, place, nextOffset: offset.nextOffset, nil))
      }
    }
    return partitions
  }
}
