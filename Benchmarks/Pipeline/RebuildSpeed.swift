import EmbeddedStack
import Events
import Foundation
import Postgres

/// Applies follows and posts of many people with fanout-worker, rebuilds its tables from the same log,
/// and compares row counts.
func measureRebuild(_ bench: Bench) throws -> Measured {
  let stack = try BenchStack(bench)
  defer { stack.stop() }
  try stack.start("fanout-worker", owning: .posts)
  // What the embedded broker holds.
  let workload =
    bench.isQuick
    ? FanoutWorkload(quick: true, seed: bench.seed)
    : FanoutWorkload(
      people: 100_000, authors: 2_000, posts: 10_000, follows: 200_000, seed: bench.seed)
  let start = EventTime.now.microseconds - 3_600_000_000
  // One after the other, so their times add up.
  let liveSeconds =
    try stack.burst(
      workload.followEvents(at: start), topic: .follows, by: "fanout-worker",
      commits: "SELECT xmin, 1 FROM follows"
    ).seconds
    + stack.burst(
      workload.postEvents(at: start), topic: .posts, by: "fanout-worker", commits: postCommits
    ).seconds
  try stack.settle()
  let run = try stack.rebuildFeeds()
  let live = try stack.count("feed_entries")
  let rebuilt = try stack.count("magpie_shadow.feed_entries")
  guard live == rebuilt, live > 0 else {
    throw BenchError(description: "\(rebuilt) rebuilt deliveries instead of \(live)")
  }
  return [
    "rebuiltRecordsPerSecond": run.records / run.seconds,
    "rebuiltDeliveriesPerSecond": Double(rebuilt) / run.seconds,
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
