import Events
import Foundation
import Kafka
import Postgres
import Workload

/// Applies the follows of one CSV file, the posts of another one in one burst, and then posts one at
/// a time.
///
/// Neither the push limit nor the length of feeds matters, so each delivery is stored.
func measureGraph(_ bench: Bench) throws -> Measured {
  // As `promptAnswers`, but shorter: a post that is alone always arrives while a fetch waits.
  let stack = try BenchStack(bench, kafkaProperties: ["fetch.wait.max.ms": "1"])
  defer { stack.stop() }
  let files = try bench.graph ?? writeSmallGraph(seed: bench.seed, in: stack.directory)
  let posts = try readPosts(files.posts, bytesMax: stack.broker.bytesMax)
  try stack.start(
    "fanout-worker", owning: .posts,
    arguments: ["--push-limit", "1000000", "--feed-length", "100000"])

  let started = ContinuousClock.now
  let follows = try stack.applyFollows(files.follows)
  let loading = seconds(since: started)
  let expected = try stack.expectedDeliveries(posts)
  var measured = try measurePosts(posts, delivering: expected, stack)
  measured["follows"] = Double(follows)
  measured["followsPerSecond"] = Double(follows) / loading
  measured["posts"] = Double(posts.count)
  let alone = try stack.latenciesAlone(
    of: posts, count: bench.isQuick ? 20 : 500, seed: bench.seed)
  measured["alone.p50"] = percentile(50, of: alone)
  measured["alone.p99"] = percentile(99, of: alone)
  measured["alone.max"] = alone.last
  try stack.verify()
  return measured
}

/// The posts of a file, an hour ago unless it has times.
private func readPosts(_ path: String, bytesMax: Int) throws -> [Event] {
  let file = try CSVFile(path, columns: ["author", "post", "time"], required: 1)
  let start = EventTime.now.microseconds - 3_600_000_000
  var (posts, ids, bytes): ([Event], Set<BytewiseString>, Int) = ([], [], 0)
  while let row = try file.next() {
    let name = row[1].isEmpty ? "post-\(file.line)" : row[1]
    guard ids.insert(BytewiseString(name)).inserted else {
      throw file.error("expected a post id that no earlier line has")
    }
    try file.naming {
      let time =
        row[2].isEmpty
        ? EventTime(microseconds: start + Int64(posts.count) * 1000)
        : try EventTime(rfc3339: row[2])
      guard time <= .now else { throw file.error("expected a time that is not in the future") }
      posts.append(post(by: row[0], name, at: time))
      bytes += try EventCodec.encode(posts[posts.count - 1]).byteCount
    }
    guard bytes <= bytesMax else {
      throw file.error(
        "expected at most \(bytesMax >> 20) MiB of posts, as events; one burst must fit into a "
          + "partition of the embedded broker, or into memory if MAGPIE_KAFKA_BOOTSTRAP is set")
    }
  }
  guard !posts.isEmpty else { throw file.error("expected at least one post") }
  return posts
}

private func post(by author: String, _ name: String, at time: EventTime) -> Event {
  ordinaryPost(name, by: author, title: "Title", event: name, at: time)
}

extension CSVFile {
  /// Adds the place to what is wrong with an event made from the current line.
  fileprivate func naming<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as EventError { throw self.error(error.message) }
  }
}

extension BenchStack {
  /// Produces the follows of a file piece by piece and waits until all are applied. Keeps them in a
  /// temporary table for `expectedDeliveries`.
  fileprivate func applyFollows(_ path: String) throws -> Int {
    try connection.script(
      """
      CREATE TEMPORARY TABLE bench_graph (followee text COLLATE "C", follower text COLLATE "C")
      """)
    let file = try CSVFile(path, columns: ["follower", "followee"], required: 2)
    let time = EventTime(microseconds: EventTime.now.microseconds - 7_200_000_000)
    var (sent, isAtEnd) = (0, false)
    while !isAtEnd {
      var (rows, records, bytes): ([[String]], [OutgoingRecord], Int) = ([], [], 0)
      // Two pieces wait in the broker, so that the worker never waits for one.
      while bytes < broker.bytesMax / 4, records.count < 20_000 {
        guard let row = try file.next() else {
          isAtEnd = true
          break
        }
        let event = Event(
          id: "follow-\(file.line)", source: "bench", time: time,
          payload: .followCreated(.with { ($0.follower, $0.followee) = (row[0], row[1]) }))
        let record = try file.naming { try outgoing(event, topic: broker.name(.follows)) }
        rows.append(row)
        records.append(record)
        bytes += record.wire.byteCount
      }
      try connection.copyIn(
        "COPY bench_graph (follower, followee) FROM STDIN (FORMAT binary)"
      ) { writer in
        for row in rows {
          try writer.row(columns: 2)
          try writer.text(row[0])
          try writer.text(row[1])
        }
      }
      try producer.send(records)
      let wanted = isAtEnd ? sent + records.count : sent
      try wait("follows to be applied") {
        try appliedRecords(.follows, by: "fanout-worker") >= wanted
      }
      sent += records.count
    }
    return sent
  }

  /// The number of feed entries that the follows and these posts must lead to. A follow that the file
  /// repeats counts once.
  fileprivate func expectedDeliveries(_ posts: [Event]) throws -> Int {
    let count = try connection.query(
      """
      SELECT count(*)
      FROM (SELECT DISTINCT followee, follower FROM bench_graph) f
      JOIN unnest($1::text[]) AS p (author) ON p.author = f.followee
      """, [.textArray(posts.map(\.key))]
    ).only.int(0)
    guard count > 0 else {
      throw BenchError(description: "nobody follows an author of a post: there are no deliveries")
    }
    try connection.script("DROP TABLE bench_graph")
    return count
  }

  /// Milliseconds from producing a post until it is visible, sorted. Each is published by the author
  /// of one of `posts` when the one before has been visible for a while.
  fileprivate func latenciesAlone(of posts: [Event], count: Int, seed: UInt64) throws -> [Double] {
    var random = SplitMix64(seed: seed)
    // No checkpoint, as in `latency`.
    try connection.query("ANALYZE")
    return try (0..<count).map { number in
      // Not in step with the worker's fetches.
      Thread.sleep(forTimeInterval: .random(in: 0.01...0.02, using: &random))
      let author = posts[Int.random(in: posts.indices, using: &random)].key
      let record = try outgoing(
        post(by: author, "alone-\(number)", at: .now), topic: broker.name(.posts))
      let before = try appliedRecords(.posts, by: "fanout-worker")
      let started = ContinuousClock.now
      try producer.send([record])
      try wait("a post to be visible", everySeconds: 0.0005) {
        try appliedRecords(.posts, by: "fanout-worker") > before
      }
      return seconds(since: started) * 1000
    }.sorted()
  }
}

/// Files for a quick run, with a header, quotation marks and a repeated follow.
private func writeSmallGraph(seed: UInt64, in directory: URL) throws -> Bench.Graph {
  let workload = FanoutWorkload(quick: true, seed: seed)
  let follows = workload.followers.enumerated().flatMap { author, readers in
    readers.map { "\"\(FanoutWorkload.reader($0))\",\(FanoutWorkload.author(author))" }
  }
  let posts = (0..<workload.posts).map { FanoutWorkload.author(workload.author($0)) }
  func write(_ name: String, _ lines: [String]) throws -> String {
    let file = directory.appending(path: name)
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
    return file.path
  }
  return Bench.Graph(
    follows: try write("follows.csv", ["follower,followee"] + follows + follows.prefix(1)),
    posts: try write("posts.csv", posts))
}
