import EmbeddedStack
import Foundation
import Postgres

/// Rebuilds the feeds that fanout-worker has just written from the same log, and compares row
/// counts.
func measureRebuild(_ stack: BenchStack, liveSeconds: Double) throws -> Measured {
  try stack.settle()
  let run = try stack.rebuildFeeds()
  let live = try stack.count("feed_entries")
  let rebuilt = try stack.count("magpie_shadow.feed_entries")
  guard live == rebuilt, live > 0 else {
    throw BenchError(description: "\(rebuilt) rebuilt deliveries instead of \(live)")
  }
  try stack.connection.script("DROP SCHEMA magpie_shadow CASCADE")
  return [
    "rebuiltRecordsPerSecond": run.records / run.seconds,
    "rebuiltDeliveriesPerSecond": Double(rebuilt) / run.seconds,
    // Live follows and posts are measured one after the other, so their times add up.
    "rebuiltToLive": liveSeconds / run.seconds,
  ]
}

extension BenchStack {
  struct RebuildRun {
    var records: Double
    /// From the start of the process to its end, including table creation and VACUUM.
    var seconds: Double
  }

  /// Runs `magpie replay --rebuild feeds`.
  func rebuildFeeds() throws -> RebuildRun {
    let output = directory.appending(path: "rebuild.json").path
    let started = ContinuousClock.now
    let child = try ChildProcess(
      executable("magpie"), ["replay", "--rebuild", "feeds", "--json"], environment: environment,
      output: .file(output))
    let exit = child.wait(seconds: 600)
    let took = seconds(since: started)
    let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
    guard exit == .exited(0),
      let line = text.split(separator: "\n").last(where: { $0.hasPrefix("{") }),
      let report = try? JSONDecoder().decode(Report.self, from: Data(line.utf8))
    else { throw BenchError(description: "the rebuild failed: \(text)") }
    return RebuildRun(records: Double(report.records), seconds: took)
  }

  private struct Report: Decodable {
    var records: Int
  }
}
