import Events
import Postgres
import Workload

/// Likes of posts by distinct people, evenly distributed, in time order.
struct LikesWorkload {
  var posts: Int
  var people: Int
  /// The number of post owners.
  var owners: Int

  init(quick: Bool) {
    self.init(
      posts: quick ? 100 : 1_000, people: quick ? 1_000 : 20_000, owners: quick ? 20 : 200)
  }

  init(posts: Int, people: Int, owners: Int) {
    (self.posts, self.people, self.owners) = (posts, people, owners)
  }

  func owner(_ post: Int) -> String { "author-\(post % owners)" }

  func events(_ count: Int, seed: UInt64, at start: Int64) -> [Event] {
    var random = SplitMix64(seed: seed)
    var seen = Set<Int>()
    return (0..<count).map { index in
      var pair: Int
      repeat {
        pair = Int.random(in: 0..<posts * people, using: &random)
      } while !seen.insert(pair).inserted
      return like(by: pair / posts, of: pair % posts, "\(index)", at: start + Int64(index))
    }
  }

  func like(by person: Int, of post: Int, _ name: String, at microseconds: Int64) -> Event {
    Event(
      id: "l-\(name)", source: "bench", time: EventTime(microseconds: microseconds),
      payload: .likeCreated(
        .with {
          $0.actor = "reader-\(person)"
          $0.post = "post-\(post)"
          $0.postOwner = owner(post)
        }))
  }
}

let likeCommits = "SELECT xmin, 1 FROM likes"

/// Applies likes with notification-worker, then writes the same likes by bulk SQL.
func measureNotifications(_ bench: Bench) throws -> Measured {
  let stack = try BenchStack(bench)
  defer { stack.stop() }
  var measured: Measured = [:]
  try stack.start("notification-worker", owning: .likes)
  measured["memoryAtRest"] =
    stack.workers["notification-worker"]?.first.flatMap { ResidentMemory($0.processID) }?.now
  let count = bench.isQuick ? bench.likes / 20 : bench.likes
  // Within one UTC day, so that each post has one notification.
  let today = EventTime.now.microseconds / 86_400_000_000 * 86_400_000_000
  let events = LikesWorkload(quick: bench.isQuick).events(
    count, seed: bench.seed, at: today - 80_000_000_000)
  let run = try stack.burst(
    events, topic: .likes, by: "notification-worker", commits: likeCommits)
  guard try stack.count("likes") == count else {
    throw BenchError(description: "stored \(try stack.count("likes")) of \(count) likes")
  }
  measured["likesPerSecond"] = run.rate
  measured["likesSteadyPerSecond"] = run.steadyRate
  measured["secondsToFirstCommit"] = run.secondsToFirstCommit
  measured["likesPerTransaction"] = Double(count) / Double(run.commits.count)
  measured["producing"] = run.producing / run.seconds
  measured["logBytesPerLike"] = run.logBytes / Double(count)
  measured["memoryAtCapacity"] = run.memory?.most
  if let used = run.processor {
    measured["workerMicrosecondsPerLike"] = used.worker / Double(count) * 1_000_000
    measured["databaseMicrosecondsPerLike"] = used.database / Double(count) * 1_000_000
    measured["brokerMicrosecondsPerLike"] = used.broker / Double(count) * 1_000_000
  }

  let equal = Double(count) / (try secondsForEqualRows(events, stack))
  try compareWithBound(stack)
  let unequal = Double(count) / (try secondsForLikesAlone(events, stack))
  measured["equalRowsPerSecond"] = equal
  measured["likesAlonePerSecond"] = unequal
  measured["likesToEqualRows"] = run.rate / equal
  measured["likesToLikesAlone"] = run.rate / unequal
  measured["steadyToEqualRows"] = run.steadyRate.map { $0 / equal }
  try stack.verifyWithAlarms()
  let raised = try raisedPerSecond(events, bench)
  measured["raisedPerSecond"] = raised
  measured["raisedToLikes"] = raised / run.rate
  return measured
}

/// Raises an alarm of a grouped kind for each like, with notification-worker, in a database of its
/// own. Returns alarms per second.
private func raisedPerSecond(_ likes: [Event], _ bench: Bench) throws -> Double {
  let stack = try BenchStack(bench)
  defer { stack.stop() }
  try stack.start("notification-worker", owning: .alarms)
  let raised = likes.compactMap { event -> Event? in
    guard case .likeCreated(let like) = event.payload else { return nil }
    return Event(
      id: event.id, source: event.source, time: event.time,
      payload: .alarmRaised(
        .with {
          ($0.recipient, $0.kind, $0.subject) = (like.postOwner, "comment-like", like.post)
          ($0.source, $0.actor) = (like.actor, like.actor)
        }))
  }
  let run = try stack.burst(
    raised, topic: .alarms, by: "notification-worker",
    commits: "SELECT xmin, 1 FROM notification_actors")
  guard try stack.count("notification_actors WHERE active") == raised.count else {
    throw BenchError(description: "not every raised alarm was stored")
  }
  try stack.verifyWithAlarms()
  return run.rate
}
