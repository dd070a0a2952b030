import EmbeddedStack
import Events
import Foundation
import Kafka
import Synchronization

// Faults of the worker processes.
extension PlannedFault {
  func suspend(_ world: World) {
    let worker = world.worker(target)
    world.injected.onHeal(self) { worker.signal(SIGCONT) }
    worker.signal(SIGSTOP)
  }

  /// A worker is suspended in the middle of batches and its sessions are terminated, as idle ones
  /// eventually are. When it resumes after its partitions have moved, it tries to commit records
  /// that the new owner may have applied.
  func suspendWithWork(_ world: World) throws {
    let worker = world.worker(target)
    guard let current = worker.current else { throw CampaignError("\(worker.name) is down") }
    let itsSessions = "application_name = '\(current.identity)'"
    let group = worker.group.name(prefix: world.topicPrefix)
    let connection = try world.connection()
    defer { connection.close() }
    try connection.script(
      """
      SET lock_timeout = '5s';
      BEGIN;
      SELECT FROM consumer_offsets WHERE consumer_group = '\(group)' FOR UPDATE;
      """)
    try world.wait(seconds: 3, "\(current.identity) is processing a batch") {
      try connection.query(
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE \(itsSessions) AND wait_event_type = 'Lock'
        """
      ).only.int(0) > 0
    }
    let giveUpAt = ContinuousClock.now + .seconds(seconds + 15)
    world.injected.onHeal(self) {
      if worker.current?.identity == current.identity, worker.isRunning, .now < giveUpAt,
        try world.owns(current.identity, of: group)
      {
        throw CampaignError("no worker has taken over \(current.identity)'s partitions")
      }
      worker.signal(SIGCONT)
    }
    worker.signal(SIGSTOP)
    try terminateBackends(world, itsSessions)
  }

  /// A worker process repeatedly stops, gracefully or not, and restarts.
  func churn(_ world: World) {
    let worker = world.worker(target)
    let count = Mutex(0)
    let coming = Repeated(everyMilliseconds: 1500) {
      let isEven = count.withLock { count in
        count += 1
        return count % 2 == 0
      }
      worker.signal(isEven ? SIGKILL : SIGTERM)
    }
    world.injected.onHeal(self) { coming.stop() }
  }

  /// An idle consumer joins a worker's group and is assigned partitions.
  func join(_ world: World) {
    let worker = world.worker(target)
    let topics = worker.group.topics.map { $0.name(prefix: world.topicPrefix) }
    let group = worker.group.name(prefix: world.topicPrefix)
    let kafka = world.kafka
    let isLeaving = Mutex(false)
    let membership = Repeated(everyMilliseconds: 100) {
      let consumer = try Consumer(configuration: kafka, group: group, topics: topics) { event in
        guard case .assigned(let partitions) = event else { return [:] }
        return Dictionary(uniqueKeysWithValues: partitions.map { ($0, Consumer.end) })
      }
      defer { consumer.close() }
      while !isLeaving.withLock({ $0 }) {
        _ = try consumer.poll(maxRecords: 1000, maxBytes: 1 << 20, timeoutMilliseconds: 100)
      }
    }
    world.injected.onHeal(self) {
      isLeaving.withLock { $0 = true }
      membership.stop()
    }
  }

  /// Further allocations fail.
  func limitMemory(_ world: World) throws {
    let worker = world.worker(target)
    guard let processID = worker.processID else { throw CampaignError("\(worker.name) is down") }
    let statistics = try String(contentsOfFile: "/proc/\(processID)/statm", encoding: .utf8)
    guard let pages = statistics.split(separator: " ").first.flatMap({ Int($0) }) else {
      throw CampaignError("/proc/\(processID)/statm is empty")
    }
    worker.expectEnd()
    // What remains of it has lost threads or worse, so it is killed.
    world.injected.onHeal(self) { worker.signal(SIGKILL) }
    try limit(processID, "--as=\(pages * Int(getpagesize())):")
  }

  /// The worker cannot open descriptors and loses its database connections, so that it must.
  func limitDescriptors(_ world: World) throws {
    let worker = world.worker(target)
    guard let current = worker.current, let processID = worker.processID else {
      throw CampaignError("\(worker.name) is down")
    }
    // swift-nio traps if it cannot open its initial descriptors, which it has opened once it
    // listens.
    guard current.isListening else {
      throw CampaignError("\(worker.name) is still starting")
    }
    let before = try softLimit("Max open files", of: processID) ?? "1024"
    world.injected.onHeal(self) { try? limit(processID, "--nofile=\(before):") }
    // It keeps its open descriptors, but cannot replace the ones that it loses.
    try limit(processID, "--nofile=3:")
    try terminateBackends(world, "application_name = '\(current.identity)'")
  }
}

/// A running process's soft limit, by its three-word name in `/proc/PID/limits`.
func softLimit(_ name: String, of processID: Int32) throws -> String? {
  try String(contentsOfFile: "/proc/\(processID)/limits", encoding: .utf8)
    .split(separator: "\n").first { $0.hasPrefix(name) }?
    .split(separator: " ").dropFirst(3).first.map(String.init)
}

/// Changes a running process's soft limit.
private func limit(_ processID: Int32, _ limit: String) throws {
  let child = try ChildProcess(
    "/usr/bin/prlimit", ["--pid", "\(processID)", limit])
  guard child.wait(seconds: 10) == .exited(0) else {
    throw CampaignError("prlimit --pid \(processID) \(limit) failed")
  }
}

extension World {
  /// Whether the process was the last to claim any of the group's partitions.
  fileprivate func owns(_ identity: String, of group: String) throws -> Bool {
    let connection = try connection()
    defer { connection.close() }
    return try connection.query(
      """
      SELECT count(*) FROM (
        SELECT DISTINCT ON (topic, partition) process FROM batch_audit
        WHERE consumer_group = $1 AND to_epoch IS DISTINCT FROM from_epoch
        ORDER BY topic, partition, entry DESC
      ) claims
      WHERE process = $2
      """, [.text(group), .text(identity)]
    ).only.int(0) > 0
  }
}
