import Events
import Foundation
import Postgres
import Workload

/// Measures the page functions of docs/sql.md at growing numbers of people: quiet, in turns with
/// hand-written queries of the same rows, and while workers write at half of their capacity.
func measurePages(_ bench: Bench) throws -> Measured {
  var measured: Measured = [:]
  for people in bench.isQuick ? [200] : bench.people {
    progress("pages: \(people) people")
    let state = SocialState(people: people)
    let run = try PagesRun(bench, state)
    defer { run.stack.stop() }
    measured.merge(try run.measure().map { ("\(people).\($0)", $1) }) { $1 }
  }
  let pages = PagesTable(measured)
  measured["worstRatio"] = pages.worstRatio
  measured["worstGrowth"] = pages.worstGrowth
  return measured
}

private final class PagesRun {
  let bench: Bench
  let state: SocialState
  let stack: BenchStack
  /// By viewer. What their pages are about.
  private var subjects: [String: [PageQuery.Subject: String]] = [:]
  private var measured: Measured = [:]

  init(_ bench: Bench, _ state: SocialState) throws {
    (self.bench, self.state) = (bench, state)
    stack = try BenchStack(bench, kafkaProperties: promptAnswers)
  }

  func measure() throws -> Measured {
    try prepare()
    try compare()
    try readQuietly()
    try readWhileWriting()
    // Of a million people, `magpie verify` takes longer than the measurement.
    if state.people <= 100_000 {
      try stack.waitForAlarms()
      try stack.verify()
    }
    return measured
  }

  private func prepare() throws {
    let began = ContinuousClock.now
    try stack.load(state)
    measured["loadingSeconds"] = seconds(since: began)
    measured["databaseGiB"] = try stack.databaseGiB()
    try stack.start("fanout-worker", owning: .posts)
    try stack.start("notification-worker", owning: .likes)
    try stack.start("alarm-worker", owning: .notificationChanges)
    var random = SplitMix64(seed: bench.seed)
    let numbers = (0..<1_000).map { _ in Int.random(in: 0..<state.active, using: &random) }
    let found = try stack.connection.query(
      """
      SELECT u.user_id, (
          SELECT e.user_id FROM follows f JOIN users e ON e.user_key = f.followee
          WHERE f.follower = u.user_key AND f.active ORDER BY hashint8(e.user_key) LIMIT 1
        ), (
          SELECT n.notification_id::text FROM notifications n
          WHERE n.recipient = u.user_id AND n.type = 0 ORDER BY n.raised_at DESC LIMIT 1
        ), lower(left(p.name, 3)), 'post-' || v.post, 'person-' || v.peer
      FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
        AS v (viewer, namesake, post, peer)
      JOIN users u ON u.user_key = v.viewer
      JOIN profiles p ON p.user_id = 'person-' || v.namesake
      """,
      [
        .int8Array(numbers.map { Int64(state.key(active: $0)) }),
        .int8Array(numbers.map { _ in Int64(Int.random(in: 1...state.people, using: &random)) }),
        .int8Array(
          numbers.map { _ in
            Int64(state.newestPost(of: Int.random(in: 0..<state.active, using: &random)))
          }),
        .int8Array(numbers.map { Int64(state.key(active: $0 + 1)) }),
      ])
    for row in found {
      subjects[try row.text(0)] = [
        .person: try row.text(1),
        .alarm: try row.textOrNil(2) ?? "00000000-0000-0000-0000-000000000000",
        .word: try row.text(3), .post: try row.text(4), .peer: try row.text(5),
      ]
    }
  }

  private func parameters(_ page: PageQuery) -> @Sendable (String) -> [Parameter] {
    guard page.subject != .none else { return { [.text($0)] } }
    return { [subjects] in [.text($0), .text(subjects[$0]?[page.subject])] }
  }

  /// Throws unless each function returns the rows of its hand-written query, which may lack the
  /// function's last columns.
  private func compare() throws {
    for page in PageQuery.all {
      for viewer in subjects.keys.sorted().prefix(bench.isQuick ? 20 : 50) {
        let (rows, expected) = (
          try texts(page.sql, parameters(page)(viewer)),
          try texts(page.handWritten, parameters(page)(viewer))
        )
        guard rows.count == expected.count,
          zip(rows, expected).allSatisfy({ $0 == $1 || $0.hasPrefix($1.dropLast() + ",") })
        else {
          throw BenchError(
            description: "\(page.name) for \(viewer): \(rows), but written by hand: \(expected)")
        }
      }
    }
  }

  private func texts(_ sql: String, _ parameters: [Parameter]) throws -> [String] {
    try stack.connection.query("SELECT page::text FROM (\(sql)) page", parameters).map {
      try $0.text(0)
    }
  }

  private func reads(_ queries: [Reads.Query]) -> Reads {
    Reads(
      url: stack.cluster.url(), queries, of: subjects.keys.sorted(), perSecond: nil,
      seed: bench.seed)
  }

  private func readQuietly() throws {
    for page in PageQuery.all {
      let reads = reads([
        Reads.Query(name: "\(page.name).quiet", sql: page.sql, parameters: parameters(page)),
        Reads.Query(
          name: "\(page.name).byHand", sql: page.handWritten, parameters: parameters(page)),
      ])
      Thread.sleep(forTimeInterval: bench.isQuick ? 0.1 : 3)
      measured.merge(try reads.stop()) { $1 }
    }
  }

  /// Posts and likes, each at a quarter of the rate that it reaches alone.
  private func readWhileWriting() throws {
    let posts = try capacity(.posts, "fanout-worker", commits: "SELECT xmin, 1 FROM posts", post)
    let likes = try capacity(.likes, "notification-worker", commits: likeCommits, like)
    measured["postsPerSecond"] = posts
    measured["likesPerSecond"] = likes
    let perSecond = (posts + likes) / 4
    let before = try applied()
    var random = SplitMix64(seed: bench.seed &+ 7)
    let records = try (0..<Int(perSecond * (bench.isQuick ? 2 : 30))).map { number in
      let isPost = Double.random(in: 0..<posts + likes, using: &random) < posts
      let at = EventTime.now.microseconds
      let event = (isPost ? post : like)("written-\(number)", at, &random)
      return try outgoing(event, topic: stack.broker.name(event.topic))
    }
    let reads = reads(
      PageQuery.all.map {
        Reads.Query(name: "\($0.name).writing", sql: $0.sql, parameters: parameters($0))
      })
    _ = try OpenLoop(records: records, perSecond: perSecond, seed: bench.seed).run(stack.producer)
    measured.merge(try reads.stop()) { $1 }
    let stopped = ContinuousClock.now
    try stack.wait("posts and likes to be applied") { try applied() >= before + records.count }
    measured["secondsBehind"] = seconds(since: stopped)
  }

  private func applied() throws -> Int {
    try stack.appliedRecords(.posts, by: "fanout-worker")
      + stack.appliedRecords(.likes, by: "notification-worker")
  }

  /// Events per second in the second of two bursts; the first fills caches and plans.
  private func capacity(
    _ topic: Topic, _ worker: String, commits: String,
    _ event: (String, Int64, inout SplitMix64) -> Event
  ) throws -> Double {
    var random = SplitMix64(seed: bench.seed)
    var rate = 0.0
    for burst in 0..<2 {
      let now = EventTime.now.microseconds
      let count = (topic == .likes ? 10_000 : 2_000) / (bench.isQuick ? 10 : 1)
      let events = (0..<count).map { event("burst-\(burst)-\($0)", now + Int64($0), &random) }
      let run = try stack.burst(events, topic: topic, by: worker, commits: commits, settled: false)
      rate = run.steadyRate ?? run.rate
    }
    return rate
  }

  private func post(_ name: String, at time: Int64, _ random: inout SplitMix64) -> Event {
    let author = Int.random(in: 0..<state.active, using: &random)
    return Event(
      id: name, source: "bench", time: EventTime(microseconds: time),
      payload: .postPublished(
        .with {
          $0.post = "post-\(name)"
          $0.author = SocialState.person(state.key(active: author))
          $0.title = "Title"
          $0.caption = "A caption of an ordinary length, about as long as this one here."
        }))
  }

  private func like(_ name: String, at time: Int64, _ random: inout SplitMix64) -> Event {
    let owner = Int.random(in: 0..<state.active, using: &random)
    let actor = Int.random(in: 1...state.people, using: &random)
    return Event(
      id: name, source: "bench", time: EventTime(microseconds: time),
      payload: .likeCreated(
        .with {
          $0.actor = SocialState.person(actor)
          $0.post = "post-\(state.newestPost(of: owner))"
          $0.postOwner = SocialState.person(state.key(active: owner))
        }))
  }
}
