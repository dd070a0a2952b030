import Events
import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing
import Verification
import Workload

/// On a busy machine a transaction can take many seconds from publishing a change until its commit.
private let patience: Duration = .seconds(60)

/// State shared by the threads.
private final class Shared: Sendable {
  let isDone = Mutex(false)
  let failures = Mutex<[String]>([])
}

/// Comparisons while workers write at full speed.
@Suite struct LiveTests {
  @Test("tables being written show no differences, except for rows broken meanwhile")
  func whileWritten() throws {
    var generator = SeededGenerator()
    let seed = UInt64.random(in: 1...1_000_000, using: &generator)
    let log = MemoryLog()
    let tables = try Tables(log)
    let events = Array(SocialWorkload(users: 50, events: 1500, seed: seed))
    let state = Shared()
    func thread(_ body: @escaping @Sendable () throws -> Void) -> Thread {
      let thread = Thread {
        do { try body() } catch { state.failures.withLock { $0.append("\(error)") } }
      }
      thread.start()
      return thread
    }
    try log.append(events.prefix(500))
    let workers = try tables.workers(pushLimit: 10)
    let threads =
      [
        thread {
          for start in stride(from: 500, to: events.count, by: 100) {
            try log.append(events[start..<min(start + 100, events.count)])
            Thread.sleep(forTimeInterval: 0.02)
          }
        }
      ]
      + workers.map { worker in
        thread {
          while !state.isDone.withLock({ $0 }) {
            if try !worker.step(batch: 20) { Thread.sleep(forTimeInterval: 0.001) }
          }
        }
      }
    let shadow = try Shadow(of: tables)
    var rounds = 0
    var late = 0
    while !threads[0].isFinished || rounds < 3 {
      for report in [
        try tables.verify(slices: 1 + rounds % 2, patience: patience), try shadow.diff(),
      ] {
        #expect(report.lines.sorted().prefix(3) == [], "seed \(seed), round \(rounds)")
        late += report.tables.reduce(0) { $0 + $1.inFlight }
      }
      rounds += 1
    }
    // A row that no event changes later: its owner is not among the workload's ids.
    try tables.admin.script(
      """
      INSERT INTO profiles (user_id, nickname, version_time, version_id)
      VALUES ('stranger', 'x', '2025-01-01T00:00:00Z', 'e')
      """)
    for report in [try tables.verify(patience: patience), try shadow.diff()] {
      #expect(report.lines == ["profiles extra stranger "], "seed \(seed)")
    }
    state.isDone.withLock { $0 = true }
    for thread in threads { while !thread.isFinished { Thread.sleep(forTimeInterval: 0.01) } }
    #expect(state.failures.withLock { $0 } == [])
    print("\(rounds) verifications and diffs, \(late) alarms in flight")
  }
}

/// Tables rebuilt from the same log, with their notification changes kept private.
private struct Shadow {
  let live: Tables
  let tables: Tables
  let workers: [TestWorker]

  init(of live: Tables) throws {
    self.live = live
    tables = try Tables(live.log)
    workers = try tables.workers(changes: MemoryLog())
  }

  func diff() throws -> ComparisonReport {
    try SchemaDiff(
      Connection(live.url, applicationName: "diff"),
      later: { try Connection(live.url, applicationName: "later") }, log: live.log,
      prefix: live.log.prefix, groups: Set(CanonicalTable.Group.allCases), patience: patience
    ).run(report: ComparisonReport(samplesMax: 1000)) { ends in
      while try workers.reduce(false, { try $1.step(batch: 500, to: ends) || $0 }) {}
      return try Connection(tables.url, applicationName: "shadow")
    }
  }
}
