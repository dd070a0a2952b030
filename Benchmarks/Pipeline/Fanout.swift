import Events
import Foundation
import Kafka
import Postgres

extension PipelineBench {
  /// Follows and posts through fanout-worker, then the same rows by SQL and by COPY.
  func measureFanout(_ stack: BenchStack, into measured: inout [Measure: Double]) throws {
    try stack.start("fanout-worker", owning: .posts)
    let start = EventTime.now.microseconds - 3_600_000_000
    let follows = (0..<authors).flatMap { author in
      (0..<followers).map { index in
        // Overlapping audiences: each person follows several authors.
        let follower = (author * 37 + index * 7) % (followers * 4)
        return Event(
          id: "f-\(author)-\(index)", source: "bench", time: EventTime(microseconds: start),
          payload: .followCreated(
            .with {
              $0.follower = "reader-\(follower)"
              $0.followee = "author-\(author)"
            }))
      }
    }
    let applied = try stack.apply(follows, topic: .follows, by: "fanout-worker")
    measured[.followsPerSecond] = Double(follows.count) / applied.seconds

    let published = (0..<posts).map { index in
      Event(
        id: "p-\(index)", source: "bench",
        time: EventTime(microseconds: start + Int64(index) * 1000),
        payload: .postPublished(
          .with {
            $0.post = "post-\(index)"
            $0.author = "author-\(index % authors)"
            $0.title = "Title \(index)"
            $0.caption = "A caption of an ordinary length, about as long as this one here."
          }))
    }
    let run = try stack.apply(published, topic: .posts, by: "fanout-worker")
    let deliveries = try count(stack, "feed_entries")
    let expected = try stack.connection.query(
      "SELECT count(*) FROM posts p JOIN follows f ON f.followee = p.author AND f.active"
    ).only.int(0)
    guard deliveries == expected, deliveries > 0 else {
      throw BenchError(description: "\(deliveries) deliveries, but there should be \(expected)")
    }
    measured[.deliveriesPerSecond] = Double(deliveries) / run.seconds
    measured[.postsPerTransaction] = Double(posts) / Double(run.transactions)
    measured[.logBytesPerDelivery] = Double(run.logBytes) / Double(deliveries)
    for (measure, part) in [
      (Measure.fanoutWorkerShare, \ProcessorTime.worker),
      (.fanoutDatabaseShare, \.database), (.fanoutBrokerShare, \.broker),
    ] { measured[measure] = run.processorSeconds(part).map { $0 / run.seconds } }

    let insert = try secondsToInsertSelect(stack)
    measured[.insertSelectPerSecond] = Double(deliveries) / insert
    measured[.fanoutToInsertSelect] = insert / run.seconds
    let copy = try secondsToCopy(stack)
    measured[.copyPerSecond] = Double(deliveries) / copy
    measured[.fanoutToCopy] = copy / run.seconds
    guard try count(stack, "bench_inserted") == deliveries,
      try count(stack, "bench_copied") == deliveries
    else { throw BenchError(description: "the bounds wrote other rows than the pipeline") }
  }

  private func count(_ stack: BenchStack, _ table: String) throws -> Int {
    try stack.connection.query("SELECT count(*) FROM \(table)").only.int(0)
  }

  private func secondsToInsertSelect(_ stack: BenchStack) throws -> Double {
    try makeTable("bench_inserted", stack)
    let keys = try postKeys(stack)
    try stack.settle()
    let started = ContinuousClock.now
    for batch in keys {
      try stack.connection.query(
        """
        INSERT INTO bench_inserted
        SELECT f.follower, p.post_key
        FROM posts p JOIN follows f ON f.followee = p.author AND f.active
        WHERE p.post_key = ANY ($1::bigint[])
        ORDER BY f.follower, p.post_key
        ON CONFLICT DO NOTHING
        """, [.int8Array(batch)])
    }
    return seconds(since: started)
  }

  /// Reading the rows is not counted, only writing them.
  private func secondsToCopy(_ stack: BenchStack) throws -> Double {
    try makeTable("bench_copied", stack)
    let batches = try postKeys(stack).map { batch in
      try stack.connection.query(
        "SELECT owner, post_key FROM feed_entries WHERE post_key = ANY ($1) ORDER BY 1, 2",
        [.int8Array(batch)]
      ).map { (try $0.int8(0), try $0.int8(1)) }
    }
    try stack.settle()
    let started = ContinuousClock.now
    for batch in batches {
      try stack.connection.copyIn("COPY bench_copied FROM STDIN (FORMAT binary)") { writer in
        for (owner, postKey) in batch {
          try writer.row(columns: 2)
          try writer.int8(owner)
          try writer.int8(postKey)
        }
      }
    }
    return seconds(since: started)
  }

  /// Partitioned and keyed like `feed_entries`.
  private func makeTable(_ name: String, _ stack: BenchStack) throws {
    let partitions = (0..<8).map {
      "CREATE TABLE \(name)_\($0) PARTITION OF \(name) FOR VALUES WITH (MODULUS 8, REMAINDER \($0));"
    }
    try stack.connection.script(
      """
      CREATE TABLE \(name) (
        owner bigint NOT NULL, post_key bigint NOT NULL, PRIMARY KEY (owner, post_key)
      ) PARTITION BY HASH (owner);
      \(partitions.joined(separator: "\n"))
      """)
  }

  /// All post keys in order, 100 a batch.
  private func postKeys(_ stack: BenchStack) throws -> [[Int64?]] {
    let keys = try stack.connection.query("SELECT post_key FROM posts ORDER BY post_key").map {
      try $0.int8(0)
    }
    return stride(from: 0, to: keys.count, by: 100).map {
      Array(keys[$0..<min($0 + 100, keys.count)])
    }
  }
}
