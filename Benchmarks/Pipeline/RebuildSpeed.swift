import EmbeddedStack
import Foundation
import Postgres

extension PipelineBench {
  /// Rebuilds the feeds that fanout-worker has just made, from the same log, and counts the rows.
  func measureRebuild(_ stack: BenchStack, into measured: inout [Measure: Double]) throws {
    try stack.settle()
    let run = try stack.rebuildFeeds()
    let (live, rebuilt) = (
      try stack.connection.query("SELECT count(*) FROM feed_entries").only.int(0),
      try stack.connection.query("SELECT count(*) FROM magpie_shadow.feed_entries").only.int(0)
    )
    guard live == rebuilt, live > 0 else {
      throw BenchError(description: "\(rebuilt) rebuilt deliveries, but there should be \(live)")
    }
    let deliveries = Double(rebuilt)
    measured[.rebuiltRecordsPerSecond] = run.records / run.seconds
    measured[.rebuiltDeliveriesPerSecond] = deliveries / run.seconds
    // Live, follows and posts are measured one after the other: their times add up.
    if let follows = measured[.followsPerSecond], let posts = measured[.deliveriesPerSecond] {
      let liveSeconds = Double(authors * followers) / follows + deliveries / posts
      measured[.rebuiltToLive] = liveSeconds / run.seconds
    }
    measured[.rebuildToolShare] = run.processor.map { $0.worker / run.seconds }
    measured[.rebuildDatabaseShare] = run.processor.map { $0.database / run.seconds }
    try stack.connection.script("DROP SCHEMA magpie_shadow CASCADE")
  }
}

extension BenchStack {
  struct RebuildRun {
    var records: Double
    /// From the process's start to its end, making the tables and VACUUM included.
    var seconds: Double
    var processor: ProcessorTime?
  }

  /// Runs `magpie replay --rebuild feeds`.
  func rebuildFeeds() throws -> RebuildRun {
    let output = directory.appending(path: "rebuild.json").path
    let executable = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: "magpie").path
    let before = processorTime(of: getpid())
    let started = ContinuousClock.now
    let child = try ChildProcess(
      executable, ["replay", "--rebuild", "feeds", "--json"],
      environment: [
        "MAGPIE_KAFKA_BOOTSTRAP": broker.bootstrap, "MAGPIE_DATABASE_URL": cluster.url(),
      ], output: .file(output))
    // What a process used is gone with it: the greatest sum that was seen is what is known.
    var processor: ProcessorTime?
    while child.isRunning, seconds(since: started) < 600 {
      if let now = processorTime(of: child.processID), now.database >= processor?.database ?? 0 {
        processor = now
      }
      Thread.sleep(forTimeInterval: 0.02)
    }
    let took = seconds(since: started)
    let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
    guard child.exit == .exited(0),
      let line = text.split(separator: "\n").last(where: { $0.hasPrefix("{") }),
      let report = try? JSONDecoder().decode(Report.self, from: Data(line.utf8))
    else { throw BenchError(description: "the rebuild failed: \(text)") }
    if let before { processor?.database -= before.database }
    return RebuildRun(records: Double(report.records), seconds: took, processor: processor)
  }

  private struct Report: Decodable {
    var records: Int
  }

  private func processorTime(of process: Int32) -> ProcessorTime? {
    ProcessorTime(
      worker: process, postmaster: cluster.processID, except: connection.backendProcessID)
  }
}
