import Events
import Foundation
import Kafka
import Workload

/// Shares of the measured capacity, in percent.
let loads = [10, 25, 50, 90]

/// If a fetch finds nothing, the embedded broker responds only after the full wait, even when
/// records arrive meanwhile; a real broker does not. A short wait compensates.
let promptAnswers = ["fetch.wait.max.ms": "5"]

/// Measures the latency from event to visibility, for feeds and notifications, and first pages
/// under load.
func measureLatency(_ bench: Bench) throws -> Measured {
  var measured = try measureFeedLatency(bench)
  measured.merge(try measureNotificationLatency(bench)) { $1 }
  return measured
}

private func measureFeedLatency(_ bench: Bench) throws -> Measured {
  let stack = try BenchStack(bench, kafkaProperties: promptAnswers)
  defer { stack.stop() }
  let workload = FanoutWorkload(quick: bench.isQuick, seed: bench.seed)
  try stack.load(workload)
  try stack.start("fanout-worker", owning: .posts)
  // The first two bursts fill the tables, which slows them down; the third is measured.
  func burst(_ number: Int) throws -> Burst {
    let posts = workload.postEvents(
      at: EventTime.now.microseconds - 60_000_000, series: "\(number)-")
    return try stack.burst(
      posts, topic: .posts, by: "fanout-worker", commits: postCommits, settled: number == 0)
  }
  for number in 0..<2 { _ = try burst(number) }
  let run = try burst(2)
  let perPost = Double(workload.deliveries) / Double(workload.posts)
  let capacity = (run.steadyRate ?? run.rate) / perPost
  var measured: Measured = ["feeds.capacity": capacity]
  let phases = Phases(
    stack: stack, bench: bench, name: "feeds", topic: .posts, worker: "fanout",
    capacity: capacity
  ) { number, time, random in
    FanoutWorkload.post(
      by: Int.random(in: 0..<workload.authors, using: &random), "\(number)", at: time)
  }
  let pages = [Reads.Query(name: "feedPage", sql: "SELECT * FROM feed_page($1, NULL, 50)")]
  measured.merge(
    try phases.run(pages, of: (0..<workload.people).map(FanoutWorkload.reader))
  ) { $1 }
  try stack.verify()
  return measured
}

private func measureNotificationLatency(_ bench: Bench) throws -> Measured {
  let stack = try BenchStack(bench, kafkaProperties: promptAnswers)
  defer { stack.stop() }
  let workload = LikesWorkload(
    posts: bench.isQuick ? 500 : 5_000, people: 20_000, owners: bench.isQuick ? 10 : 100)
  try stack.start("notification-worker", owning: .likes)
  try stack.start("alarm-worker", owning: .notificationChanges)
  let count = bench.isQuick ? 2_000 : 30_000
  let started = ContinuousClock.now
  let run = try stack.burst(
    workload.events(count, seed: bench.seed, at: EventTime.now.microseconds - 60_000_000),
    topic: .likes, by: "notification-worker", commits: likeCommits)
  try stack.waitForAlarms()
  // Includes a few tens of milliseconds of polling.
  let toAlarms = seconds(since: started)
  let capacity = run.steadyRate ?? run.rate
  var measured: Measured = [
    "notifications.capacity": capacity, "likesToAlarmsPerSecond": Double(count) / toAlarms,
  ]
  measured["alarmWorkerMemory"] =
    stack.workers["alarm-worker"]?.first.flatMap { ResidentMemory($0.processID) }?.most
  let phases = Phases(
    stack: stack, bench: bench, name: "notifications", topic: .likes, worker: "notification",
    capacity: capacity
  ) { number, time, random in
    workload.like(
      by: Int.random(in: 0..<workload.people, using: &random),
      of: Int.random(in: 0..<workload.posts, using: &random), "o-\(number)", at: time)
  }
  let pages = [
    Reads.Query(name: "alarmPage", sql: "SELECT * FROM alarm_page($1, NULL, 50)"),
    Reads.Query(name: "unreadCount", sql: "SELECT unread_count($1)"),
    Reads.Query(name: "hasUnread", sql: "SELECT has_unread($1)"),
  ]
  measured.merge(try phases.run(pages, of: (0..<workload.posts).map(workload.owner))) { $1 }
  try stack.waitForAlarms()
  try stack.verify()
  return measured
}

/// Runs the loads one after the other on one stack.
private struct Phases {
  var stack: BenchStack
  var bench: Bench
  var name: String
  var topic: Topic
  var worker: String
  /// Events per second.
  var capacity: Double
  var event: (_ number: Int, _ microseconds: Int64, _ random: inout SplitMix64) -> Event

  func run(_ pages: [Reads.Query], of people: [String]) throws -> Measured {
    var measured: Measured = [:]
    var first = 1_000_000
    for load in loads {
      let sorted = try latencies(load, from: &first, lookingEvery: 0.002).sorted()
      for percent in [50.0, 95, 99] {
        measured["\(name).\(load).p\(Int(percent))"] = percentile(percent, of: sorted)
      }
      measured["\(name).\(load).max"] = sorted.last
    }
    // The share of a page's time spent on the round trip and waiting for a processor.
    let nothing = Reads.Query(name: "\(name)Nothing", sql: "SELECT $1::text")
    let reads = Reads(
      url: stack.cluster.url(), pages + [nothing], of: people, perSecond: 200, seed: bench.seed)
    // Detects only when all records are applied; the pages are what is measured.
    _ = try latencies(50, from: &first, lookingEvery: 0.05)
    measured.merge(try reads.stop()) { $1 }
    return measured
  }

  /// Sends at a share of the capacity. Excludes the first second, when processes are still idle.
  private func latencies(
    _ load: Int, from first: inout Int, lookingEvery seconds: Double
  ) throws -> [Double] {
    let perSecond = max(1, capacity * Double(load) / 100)
    let count = Int(perSecond * (bench.isQuick ? 1.5 : 4))
    var random = SplitMix64(seed: bench.seed &+ UInt64(first))
    let now = EventTime.now.microseconds
    let records = try (0..<count).map { index in
      try outgoing(
        event(first + index, now + Int64(Double(index) / perSecond * 1_000_000), &random),
        topic: stack.broker.name(topic))
    }
    first += count
    // No checkpoint: afterwards, full-page writes would dominate the few seconds; `scale` measures
    // that.
    try stack.connection.query("ANALYZE")
    let visibility = Visibility(
      url: stack.cluster.url(), group: stack.group(worker), topic: stack.broker.name(topic),
      every: seconds)
    defer { visibility.stop() }
    let sent = try OpenLoop(records: records, perSecond: perSecond, seed: UInt64(first))
      .run(stack.producer)
    let all = try visibility.latencies(of: sent, within: .seconds(60))
    let half = max(1, Int(perSecond / 2))
    let medians = stride(from: 0, to: all.count, by: half).map { first in
      Int(percentile(50, of: all[first..<min(first + half, all.count)].sorted()))
    }
    progress("\(name) at \(load) %: median of each half second, ms: \(medians)")
    return Array(all.dropFirst(Int(perSecond)))
  }
}
