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
  let workload = FanoutWorkload(quick: bench.isQuick, seed: bench.seed)
  let phases = Phases(
    bench: bench, name: "feeds", topic: .posts, worker: "fanout",
    pages: [Reads.Query(name: "feedPage", sql: "SELECT * FROM feed_page($1, NULL, 50)")],
    people: (0..<workload.people).map(FanoutWorkload.reader)
  ) { number, time, random in
    FanoutWorkload.post(
      by: Int.random(in: 0..<workload.authors, using: &random), "\(number)", at: time)
  }
  return try phases.run { stack in
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
    return ["feeds.capacity": (run.steadyRate ?? run.rate) / perPost]
  }
}

private func measureNotificationLatency(_ bench: Bench) throws -> Measured {
  let workload = LikesWorkload(
    posts: bench.isQuick ? 500 : 5_000, people: 20_000, owners: bench.isQuick ? 10 : 100)
  let phases = Phases(
    bench: bench, name: "notifications", topic: .likes, worker: "notification",
    pages: [
      Reads.Query(name: "alarmPage", sql: "SELECT * FROM alarm_page($1, NULL, 50)"),
      Reads.Query(name: "unreadCount", sql: "SELECT unread_count($1)"),
      Reads.Query(name: "hasUnread", sql: "SELECT has_unread($1)"),
    ],
    people: (0..<workload.posts).map(workload.owner)
  ) { number, time, random in
    workload.like(
      by: Int.random(in: 0..<workload.people, using: &random),
      of: Int.random(in: 0..<workload.posts, using: &random), "o-\(number)", at: time)
  }
  return try phases.run { stack in
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
    var measured: Measured = [
      "notifications.capacity": run.steadyRate ?? run.rate,
      "likesToAlarmsPerSecond": Double(count) / toAlarms,
    ]
    measured["alarmWorkerMemory"] =
      stack.workers["alarm-worker"]?.first.flatMap { ResidentMemory($0.processID) }?.most
    return measured
  }
}

/// Runs each load on a stack of its own, because the embedded broker searches a partition from its beginning for each
/// fetch: the longer its log, the less of the processors is left for the others.
private struct Phases {
  var bench: Bench
  var name: String
  var topic: Topic
  var worker: String
  /// Read at half of the capacity.
  var pages: [Reads.Query]
  var people: [String]
  var event: (_ number: Int, _ microseconds: Int64, _ random: inout SplitMix64) -> Event

  /// - Parameter prepare: fills a new stack and measures its capacity. All loads are shares of that of the first.
  func run(_ prepare: (BenchStack) throws -> Measured) throws -> Measured {
    var measured: Measured = [:]
    func phase(_ load: (BenchStack, _ capacity: Double) throws -> Void) throws {
      let stack = try BenchStack(bench, kafkaProperties: promptAnswers)
      defer { stack.stop() }
      measured.merge(try prepare(stack)) { first, _ in first }
      try load(stack, measured["\(name).capacity"] ?? .nan)
      try stack.waitForAlarms()
      try stack.verify()
    }
    for load in loads {
      try phase { stack, capacity in
        let sorted = try latencies(load, of: capacity, stack, lookingEvery: 0.002).sorted()
        for percent in [50.0, 95, 99] {
          measured["\(name).\(load).p\(Int(percent))"] = percentile(percent, of: sorted)
        }
        measured["\(name).\(load).max"] = sorted.last
      }
    }
    try phase { stack, capacity in
      // The share of a page's time spent on the round trip and waiting for a processor.
      let nothing = Reads.Query(name: "\(name)Nothing", sql: "SELECT $1::text")
      let reads = Reads(
        url: stack.cluster.url(), pages + [nothing], of: people, perSecond: 200, seed: bench.seed)
      // Detects only when all records are applied; the pages are what is measured.
      _ = try latencies(50, of: capacity, stack, lookingEvery: 0.05)
      measured.merge(try reads.stop()) { $1 }
    }
    return measured
  }

  /// Sends at a share of the capacity. Excludes the first second, when processes are still idle.
  private func latencies(
    _ load: Int, of capacity: Double, _ stack: BenchStack, lookingEvery seconds: Double
  ) throws -> [Double] {
    let perSecond = max(1, capacity * Double(load) / 100)
    let count = Int(perSecond * (bench.isQuick ? 1.5 : 4))
    var random = SplitMix64(seed: bench.seed &+ UInt64(load))
    let now = EventTime.now.microseconds
    let records = try (0..<count).map { index in
      try outgoing(
        event(index, now + Int64(Double(index) / perSecond * 1_000_000), &random),
        topic: stack.broker.name(topic))
    }
    // No checkpoint: afterwards, full-page writes would dominate the few seconds; `scale` measures
    // that.
    try stack.connection.query("ANALYZE")
    let visibility = Visibility(
      url: stack.cluster.url(), group: stack.group(worker), topic: stack.broker.name(topic),
      every: seconds)
    defer { visibility.stop() }
    let sent = try OpenLoop(records: records, perSecond: perSecond, seed: UInt64(load))
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
