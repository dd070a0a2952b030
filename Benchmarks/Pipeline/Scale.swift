import Events
import Foundation
import Workload

/// Measures the cost of a delivery with growing numbers of feed entries and people.
func measureScale(_ bench: Bench) throws -> Measured {
  var measured: Measured = [:]
  var sizes = bench.entries.map { LargeState(people: $0 / 100, entries: $0) }
  if let first = bench.entries.first, first >= 1_000_000 {
    sizes.insert(LargeState(people: 1_000, entries: first), at: 0)
  }
  for size in sizes {
    let name = "\(size.people)x\(size.entries)"
    progress("scale: \(size.people) people, \(size.entries) entries")
    measured.merge(try measureScale(bench, size).map { ("\(name).\($0)", $1) }) { $1 }
  }
  return measured
}

/// Series of about 600,000 deliveries each, which are several transactions.
private let seriesMax = 24

private func measureScale(_ bench: Bench, _ size: LargeState) throws -> Measured {
  let stack = try BenchStack(bench)
  defer { stack.stop() }
  var measured: Measured = ["people": Double(size.people)]
  let began = ContinuousClock.now
  try stack.load(size)
  measured["entries"] = Double(try stack.count("feed_entries"))
  measured["loadingSeconds"] = seconds(since: began)
  measured["databaseGiB"] = try stack.databaseGiB()
  try stack.start("fanout-worker", owning: .posts)
  var random = SplitMix64(seed: bench.seed)
  // The first series runs right after a checkpoint: every page is logged in full on its first
  // write, and read from disk if it is not cached. Continue until a series logs no less per
  // delivery than the one before.
  var costs: [Double] = []
  var logged: [Double] = []
  while logged.count < 4
    || logged.count < seriesMax && logged[logged.count - 1] < 0.9 * logged[logged.count - 2]
  {
    let now = EventTime.now.microseconds - 10_000_000
    let posts = (0..<(bench.isQuick ? 100 : 2_000)).map { index in
      FanoutWorkload.post(
        by: Int.random(in: 0..<size.authors, using: &random), "\(costs.count)-\(index)",
        at: now + Int64(index) * 100)
    }
    let run = try stack.burst(
      posts, topic: .posts, by: "fanout-worker", commits: postCommits, settled: costs.isEmpty)
    costs.append(1_000_000 / (run.steadyRate ?? run.rate))
    logged.append(run.logBytes / run.work)
  }
  measured["series"] = Double(costs.count)
  measured["afterCheckpoint.microsecondsPerDelivery"] = costs.first
  measured["afterCheckpoint.logBytesPerDelivery"] = logged.first
  measured["microsecondsPerDelivery"] = Spread(costs.suffix(3))?.median
  measured["logBytesPerDelivery"] = logged.last

  func page(_ name: String, at age: Double) -> Reads.Query {
    let seconds = Int(Double(size.posts) * age)
    return Reads.Query(
      name: name,
      sql:
        "SELECT * FROM feed_page($1, feeds_cursor(now() - \(seconds) * interval '1 second', 'a'), 50)"
    )
  }
  let reads = Reads(
    url: stack.cluster.url(),
    [
      Reads.Query(name: "feedPage", sql: "SELECT * FROM feed_page($1, NULL, 50)"),
      page("middlePage", at: 0.5), page("oldestPage", at: 0.95),
    ],
    of: (0..<2_000).map { _ in
      FanoutWorkload.reader(Int.random(in: 0..<size.people, using: &random))
    },
    perSecond: 500, seed: bench.seed)
  Thread.sleep(forTimeInterval: 3)
  measured.merge(try reads.stop()) { $1 }
  if size.entries <= 20_000_000 {
    try stack.verify()
  } else {
    try stack.verifySample(size, seed: bench.seed)
  }
  return measured
}
