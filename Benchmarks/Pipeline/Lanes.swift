import Events

/// Measures the same bursts with more lanes in one process, and with more one-lane processes.
func measureLanes(_ bench: Bench) throws -> Measured {
  let stack = try BenchStack(bench)
  defer { stack.stop() }
  var workload = FanoutWorkload(quick: bench.isQuick, seed: bench.seed)
  // Enough transactions for four lanes.
  workload.posts *= 2
  let likes = LikesWorkload(quick: bench.isQuick)
  try stack.load(workload)
  var measured: Measured = [:]
  let arrangements = [(1, 1), (2, 1), (4, 1), (1, 2), (1, 4)]
  for (number, (lanes, processes)) in arrangements.enumerated() {
    let name = processes > 1 ? "processes\(processes)" : "lanes\(lanes)"
    let now = EventTime.now.microseconds
    try stack.start("fanout-worker", owning: .posts, lanes: lanes, processes: processes)
    let posts = try stack.burst(
      workload.postEvents(at: now - 60_000_000, series: "\(number)-"), topic: .posts,
      by: "fanout-worker", commits: postCommits)
    stack.stop("fanout-worker")
    measured["fanout.\(name)"] = posts.rate
    measured["fanoutSteady.\(name)"] = posts.steadyRate

    try stack.start("notification-worker", owning: .likes, lanes: lanes, processes: processes)
    // It consumes posts too.
    try stack.wait("the posts to be scanned for mentions") {
      try stack.appliedRecords(.posts, by: "notification-worker")
        == stack.appliedRecords(.posts, by: "fanout-worker")
    }
    let liked = try stack.burst(
      likes.events(
        bench.isQuick ? 2_000 : 40_000, seed: bench.seed &+ UInt64(number), at: now - 60_000_000),
      topic: .likes, by: "notification-worker", commits: likeCommits)
    stack.stop("notification-worker")
    measured["likes.\(name)"] = liked.rate
    measured["likesSteady.\(name)"] = liked.steadyRate
  }
  try stack.verifyWithAlarms()
  return measured
}
