import Events
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@testable import magpie_campaign

/// A world in which faults are tried one after the other.
final class Stage {
  let world: World

  init() throws {
    let plan = CampaignPlan(
      seed: 1, seconds: 600, rate: 150, users: 60, processes: 2, lanes: 1, kinds: [])
    world = try World(plan) { print("world: \($0)") }
    do {
      try world.startWorkers()
      try world.load.begin()
      world.load.start()
    } catch {
      world.stop()
      throw error
    }
  }

  func stop() { world.stop() }

  /// Injects a fault, waits until it takes effect, heals it, and waits until it is over.
  func inject(
    _ kind: FaultKind, target: UInt32 = 0, _ what: String,
    bites: (WorkerProcess) throws -> Bool, healed: (WorkerProcess) throws -> Bool = { _ in true }
  ) throws {
    if let obstacle = kind.obstacle { return print("\(kind.rawValue) not tried: \(obstacle)") }
    try world.wait(seconds: hangLimitSeconds, "all workers run") {
      try world.workers.allSatisfy { $0.isRunning && $0.current?.isListening == true }
        && world.connection().status == .idle
    }
    let worker = world.worker(target)
    let fault = PlannedFault(at: 0, kind: kind, seconds: 0, target: target)
    let started = ContinuousClock.now
    do {
      try fault.inject(world)
      try world.wait(seconds: hangLimitSeconds, what) { try bites(worker) }
    } catch {
      Issue.record("\(kind.rawValue): \(error)")
    }
    try world.wait(seconds: hangLimitSeconds, "\(kind.rawValue) is healed") {
      try fault.heal(world)
      return true
    }
    do {
      try world.wait(seconds: hangLimitSeconds, "\(kind.rawValue) is over") { try healed(worker) }
    } catch {
      Issue.record("\(error)")
    }
    print("\(kind.rawValue): \((ContinuousClock.now - started) / .seconds(1)) s")
  }

  /// Tries a fault that ends a process, which is then restarted.
  func endsProcess(_ kind: FaultKind) throws {
    let before = Set(world.workers.compactMap { $0.current?.identity })
    try inject(kind, "a process ends") { _ in
      !before.isSubset(of: self.world.workers.compactMap { $0.current?.identity })
    }
  }

  func log(_ worker: WorkerProcess) -> String {
    worker.current.flatMap { try? String(contentsOfFile: $0.log, encoding: .utf8) } ?? ""
  }

  /// Occurrences of the text in the running workers' logs.
  func logs(_ text: String) -> Int {
    world.workers.reduce(0) { $0 + log($1).ranges(of: text).count }
  }

  /// The sum over the running workers.
  func metric(_ series: String) -> Double {
    world.workers.reduce(0) { total, worker in
      guard let log = worker.current?.log, let port = WorkerMetrics.port(inLog: log) else {
        return total
      }
      return total + (WorkerMetrics.scrape(port: port)?[series] ?? 0)
    }
  }

  /// The state as shown by `ps`; T means stopped.
  func processState(_ worker: WorkerProcess) throws -> String? {
    guard let processID = worker.processID else { return nil }
    let line = try String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)
    return line.split(separator: ")").last?.split(separator: " ").first.map(String.init)
  }

  /// The RLIMIT_AS limit; nil if the process has ended.
  func memoryLimit(_ worker: WorkerProcess) -> String? {
    worker.processID.flatMap { try? softLimit("Max address space", of: $0) }
  }

  func number(_ sql: String) throws -> Int { try world.connection().query(sql).only.int(0) }

  func applied() throws -> Int {
    try number("SELECT sum(next_offset)::bigint FROM consumer_offsets")
  }

  /// The stored offset of every partition, summed over the groups that read it.
  func storedOffsets() throws -> [TopicPartition: Int64] {
    try ConsumerGroup.allCases.reduce(into: [:]) { all, group in
      let group = group.name(prefix: world.topicPrefix)
      all.merge(try world.storedOffsets(group: group)) { $0 + $1 }
    }
  }

  /// Waits until a hundred more records are applied.
  func expectProgress() throws {
    let applied = try applied()
    try world.wait(seconds: hangLimitSeconds, "work goes on") { try self.applied() > applied + 100 }
  }

  /// Why the campaign's own user cannot connect; nil if it can.
  func direct() -> PostgresError? { failure { try self.world.connection().close() } }

  /// Why a worker cannot connect; nil if it can.
  func asWorker() -> PostgresError? {
    failure {
      try Connection(
        self.world.proxy.url(user: World.workersRole), applicationName: "test",
        connectTimeoutSeconds: 2
      ).close()
    }
  }

  func secondsOfQuery() throws -> Double {
    let connection = try Connection(world.proxy.url, applicationName: "test")
    let started = ContinuousClock.now
    try connection.query("SELECT 1")
    return (ContinuousClock.now - started) / .seconds(1)
  }

  var isKafkaThere: Bool {
    let topic = ConsumerGroup.fanout.topics[0].name(prefix: world.topicPrefix)
    return
      (try? Admin(configuration: world.kafka).watermarks(
        TopicPartition(topic: topic, partition: 0))) != nil
  }

  private func failure(_ body: () throws -> Void) -> PostgresError? {
    do {
      try body()
      return nil
    } catch {
      return error as? PostgresError
    }
  }
}
