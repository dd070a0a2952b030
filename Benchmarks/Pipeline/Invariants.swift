import Events
import Foundation
import Workload

/// Exercises all difficult cases of feeds together under generated load: trimmed feeds, evicted
/// readers who return, authors who cross the push limit both ways, concurrent follows and
/// unfollows, several lanes in several processes. Then runs `magpie verify`, also against the log.
func measureInvariants(_ bench: Bench) throws -> Measured {
  let stack = try BenchStack(bench)
  defer { stack.stop() }
  try stack.start(
    "fanout-worker", owning: .posts, lanes: 2, processes: 2,
    arguments: ["--push-limit", "60", "--feed-length", "20", "--evict-idle-days", "1"])
  try stack.start("notification-worker", owning: .likes, lanes: 2)
  try stack.start("alarm-worker", owning: .notificationChanges)
  // Rings nobody here, but reads profiles, and `magpie verify --wait` waits for all consumer groups.
  try stack.start("reminder-worker", owning: .reminders)
  let rounds = bench.isQuick ? 2 : 4
  var load = Load(bench, rounds: rounds)
  var measured: Measured = [:]
  let began = ContinuousClock.now
  for round in 0..<rounds {
    // Even rounds cross the limit upwards, odd ones downwards; the posts that follow trigger the
    // switch.
    for events in load.round(round) {
      try stack.producer.send(
        try events.map { try outgoing($0, topic: stack.broker.name($0.topic)) })
      try stack.verify(["--wait", "120"])
    }
    let pulling = try stack.connection.query(
      """
      SELECT count(*) FROM pull_authors p JOIN users u ON u.user_key = p.author
      WHERE p.pulling AND u.user_id LIKE 'crosser-%'
      """
    ).only.int(0)
    guard pulling == (round % 2 == 0 ? Load.crossers : 0) else {
      throw BenchError(description: "\(pulling) authors are pull authors in round \(round)")
    }
    measured["crossings", default: 0] += Double(Load.crossers)
    measured["trimmed"] = Double(
      try stack.count("feeds WHERE floor > 0 AND floor < 9223372036854775807"))
    let (evicted, returned) = try leaveAndReturn(stack, round)
    measured["evicted", default: 0] += Double(evicted)
    measured["returned", default: 0] += Double(returned)
  }
  try stack.verify(["--wait", "120"])
  try stack.verify(["--deep"])
  measured["events"] = Double(load.sent)
  measured["seconds"] = seconds(since: began)
  measured["deadLetters"] = Double(try stack.count("dead_letters"))
  for name in ["trimmed", "evicted", "returned"] where measured[name] == 0 {
    throw BenchError(description: "nothing was \(name), so the run proves nothing")
  }
  return measured
}

/// A third of the people are away for two days, and a third of them return.
private func leaveAndReturn(_ stack: BenchStack, _ round: Int) throws -> (Int, Int) {
  let evicted = "SELECT count(*) FROM feeds WHERE floor = 9223372036854775807"
  let before = try stack.connection.query(evicted).only.int(0)
  try stack.connection.query(
    "SELECT feed_touch(user_id) FROM users WHERE user_key % 3 = $1", [.int8(Int64(round % 3))])
  try stack.connection.query(
    """
    UPDATE feed_visits SET visited_at = now() - interval '2 days'
    WHERE user_id IN (SELECT user_id FROM users WHERE user_key % 3 = $1)
    """, [.int8(Int64(round % 3))])
  try stack.wait("absent people to be evicted", seconds: 60) {
    try stack.count("feed_visits WHERE visited_at < now() - interval '1 day'") == 0
  }
  let away = try stack.connection.query(evicted).only.int(0)
  try stack.connection.query(
    "SELECT feed_touch(user_id) FROM users WHERE user_key % 9 = $1", [.int8(Int64(round % 3))])
  try stack.wait("the feeds of returned people", seconds: 60) {
    try stack.count("feed_returns") == 0
  }
  return (max(0, away - before), max(0, away - (try stack.connection.query(evicted).only.int(0))))
}

/// Generated events, and authors whose number of followers crosses the limit of 60.
private struct Load {
  static let crossers = 5
  private(set) var sent = 0
  private var social: SocialEvents
  private let perRound: Int
  private let start: Int64

  init(_ bench: Bench, rounds: Int) {
    perRound = bench.isQuick ? 1_000 : 5_000
    start = EventTime.now.microseconds - 7_200_000_000
    social = SocialWorkload(
      users: bench.isQuick ? 200 : 1_000, events: perRound * rounds, seed: bench.seed,
      start: EventTime(microseconds: start), spanSeconds: 1_800
    ).makeIterator()
  }

  /// Generated events with follows or unfollows of the crossing authors, then with posts by them.
  mutating func round(_ number: Int) -> [[Event]] {
    var (follows, posts): ([Event], [Event]) = ([], [])
    while follows.count < perRound / 2, let event = social.next() { follows.append(event) }
    while posts.count < perRound / 2, let event = social.next() { posts.append(event) }
    let base = start + Int64(number) * 600_000_000
    for author in 0..<Self.crossers {
      let author = "crosser-\(author)"
      // 100 followers; then 40, which is below four fifths of the limit.
      for reader in 0..<100 where number == 0 || reader >= 40 {
        follows.append(
          follow(
            author, "reader-\(reader)", number % 2 == 0, "\(number)", at: base + Int64(reader)))
      }
      for post in 0..<30 {
        posts.append(
          Event(
            id: "\(author)-\(number)-\(post)", source: "bench",
            time: EventTime(microseconds: base + 300_000_000 + Int64(post) * 1000),
            payload: .postPublished(
              .with {
                $0.post = "\(author)-\(number)-\(post)"
                $0.author = author
                $0.title = "Title"
              })))
      }
    }
    sent += follows.count + posts.count
    return [follows, posts]
  }

  private func follow(
    _ author: String, _ reader: String, _ active: Bool, _ name: String, at time: Int64
  ) -> Event {
    let payload: Payload =
      active
      ? .followCreated(.with { ($0.follower, $0.followee) = (reader, author) })
      : .followRemoved(.with { ($0.follower, $0.followee) = (reader, author) })
    return Event(
      id: "\(author)-\(reader)-\(name)", source: "bench", time: EventTime(microseconds: time),
      payload: payload)
  }
}
