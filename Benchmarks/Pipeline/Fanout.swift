import Events
import Foundation
import Postgres

/// The transactions that published posts, with the number of entries each delivered.
let postCommits = """
  SELECT p.xmin, coalesce(c.followers, 0)
  FROM posts p LEFT JOIN follow_counts c ON c.user_key = p.author
  """

/// Applies follows and posts with fanout-worker, and writes the same rows by SQL and by COPY.
func measureFanout(_ bench: Bench) throws -> Measured {
  let stack = try BenchStack(bench)
  defer { stack.stop() }
  var measured: Measured = [:]
  try stack.start("fanout-worker", owning: .posts)
  var workload = FanoutWorkload(quick: bench.isQuick, seed: bench.seed)
  // Some ten transactions of a thousand posts.
  if !bench.isQuick { workload.posts *= 5 }
  let start = EventTime.now.microseconds - 3_600_000_000
  if let memory = stack.workers["fanout-worker"]?.first.flatMap({ ResidentMemory($0.processID) }) {
    measured["memoryAtRest"] = memory.now
  }
  let follows = try stack.burst(
    workload.followEvents(at: start), topic: .follows, by: "fanout-worker",
    commits: "SELECT xmin, 1 FROM follows")
  measured["followsPerSecond"] = follows.rate
  measured["followsSteadyPerSecond"] = follows.steadyRate

  measured.merge(
    try measurePosts(
      workload.postEvents(at: start), delivering: workload.deliveries, stack)
  ) { $1 }
  try stack.verify()
  return measured
}

/// Applies posts in one burst to empty feeds, and writes the same rows by SQL and by COPY.
func measurePosts(
  _ posts: [Event], delivering expected: Int, _ stack: BenchStack
) throws -> Measured {
  let bytes = try feedBytes(stack)
  let run = try stack.burst(posts, topic: .posts, by: "fanout-worker", commits: postCommits)
  let deliveries = try stack.count("feed_entries")
  guard deliveries == expected else {
    throw BenchError(description: "\(deliveries) deliveries instead of \(expected)")
  }
  var measured: Measured = ["deliveries": Double(deliveries)]
  measured["deliveriesPerSecond"] = run.rate
  measured["deliveriesSteadyPerSecond"] = run.steadyRate
  measured["secondsToFirstCommit"] = run.secondsToFirstCommit
  measured["postsPerTransaction"] = Double(posts.count) / Double(run.commits.count)
  measured["logBytesPerDelivery"] = run.logBytes / Double(deliveries)
  measured["diskBytesPerDelivery"] = (try feedBytes(stack) - bytes) / Double(deliveries)
  measured["memoryAtCapacity"] = run.memory?.most
  if let used = run.processor {
    measured["workerSecondsPerMillion"] = used.worker / Double(deliveries) * 1_000_000
    measured["databaseSecondsPerMillion"] = used.database / Double(deliveries) * 1_000_000
    measured["brokerSecondsPerMillion"] = used.broker / Double(deliveries) * 1_000_000
  }

  let insert = try secondsToInsertSelect(stack)
  let copy = try secondsToCopy(stack)
  measured["insertSelectPerSecond"] = Double(deliveries) / insert
  measured["copyPerSecond"] = Double(deliveries) / copy
  measured["fanoutToInsertSelect"] = run.rate / (Double(deliveries) / insert)
  measured["fanoutToCopy"] = run.rate / (Double(deliveries) / copy)
  if let steady = run.steadyRate {
    measured["steadyToInsertSelect"] = steady / (Double(deliveries) / insert)
    measured["steadyToCopy"] = steady / (Double(deliveries) / copy)
  }
  guard try stack.count("bench_inserted") == deliveries,
    try stack.count("bench_copied") == deliveries
  else { throw BenchError(description: "the baselines wrote different rows than the pipeline") }
  try stack.connection.script("DROP TABLE bench_inserted, bench_copied")
  return measured
}

private func feedBytes(_ stack: BenchStack) throws -> Double {
  Double(
    try stack.connection.query(
      """
      SELECT sum(pg_total_relation_size(relid))::bigint FROM pg_partition_tree('feed_entries')
      """
    ).only.int(0))
}
