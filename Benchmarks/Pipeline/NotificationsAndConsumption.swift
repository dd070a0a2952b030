import EmbeddedStack
import Events
import Foundation
import Kafka
import Postgres

extension PipelineBench {
  /// Likes through notification-worker, then the same likes by a bulk upsert.
  func measureNotifications(_ stack: BenchStack, into measured: inout [Measure: Double]) throws {
    try stack.start("notification-worker", owning: .likes)
    let start = EventTime.now.microseconds - 3_600_000_000
    let events = (0..<likes).map { index in
      Event(
        id: "l-\(index)", source: "bench", time: EventTime(microseconds: start + Int64(index)),
        payload: .likeCreated(
          .with {
            $0.actor = "reader-\(index % 4001)"
            $0.post = "post-\(index % 997)"
            $0.postOwner = "author-\(index % 997 % authors)"
          }))
    }
    let run = try stack.apply(events, topic: .likes, by: "notification-worker")
    let applied = try stack.connection.query("SELECT count(*) FROM likes").only.int(0)
    // Actor and post repeat with periods that have no common factor, so each like is another.
    guard applied == likes else {
      throw BenchError(description: "\(applied) likes are stored of \(likes)")
    }
    measured[.likesPerSecond] = Double(likes) / run.seconds
    measured[.likesPerTransaction] = Double(likes) / Double(run.transactions)
    measured[.likesProducing] = run.producing / run.seconds
    for (measure, part) in [
      (Measure.likesWorkerShare, \ProcessorTime.worker),
      (.likesDatabaseShare, \.database), (.likesBrokerShare, \.broker),
    ] { measured[measure] = run.processorSeconds(part).map { $0 / run.seconds } }
    let upsert = try secondsToUpsert(events, stack)
    measured[.upsertPerSecond] = Double(likes) / upsert
    measured[.likesToUpsert] = upsert / run.seconds
  }

  private func secondsToUpsert(_ events: [Event], _ stack: BenchStack) throws -> Double {
    try stack.connection.script("CREATE TABLE bench_likes (LIKE likes INCLUDING INDEXES)")
    try stack.settle()
    let started = ContinuousClock.now
    for first in stride(from: 0, to: events.count, by: 2000) {
      let batch = events[first..<min(first + 2000, events.count)]
      let likes = batch.compactMap { event in
        if case .likeCreated(let like) = event.payload { like } else { nil }
      }
      try stack.connection.query(
        """
        INSERT INTO bench_likes AS l (
          post_id, actor, post_owner, active, first_at, version_time, version_id)
        SELECT post, actor, owner, true, time, time, id
        FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[])
          AS i (post, actor, owner, time, id)
        ON CONFLICT (post_id, actor) DO UPDATE
          SET version_time = excluded.version_time, version_id = excluded.version_id
          WHERE (l.version_time, l.version_id) < (excluded.version_time, excluded.version_id)
        """,
        [
          .textArray(likes.map(\.post)), .textArray(likes.map(\.actor)),
          .textArray(likes.map(\.postOwner)),
          .timestamptzArray(batch.map(\.time.microseconds)), .textArray(batch.map(\.id)),
        ])
    }
    return seconds(since: started)
  }

  /// The likes once more, consumed and decoded by us, and consumed by kcat with the same settings
  /// for fetching. Ours is timed from the assignment, because joining a group is not consuming; kcat,
  /// which joins none, from the start of its process.
  func measureConsumption(_ stack: BenchStack, into measured: inout [Measure: Double]) throws {
    var started: ContinuousClock.Instant?
    let consumer = try Consumer(
      configuration: stack.broker.configuration, group: "bench", topics: [Topic.likes.name()]
    ) { event in
      started = .now
      guard case .assigned(let partitions) = event else { return [:] }
      return Dictionary(uniqueKeysWithValues: partitions.map { ($0, Consumer.beginning) })
    }
    var decoded = 0
    while decoded < likes {
      let records = try consumer.poll(
        maxRecords: 2000, maxBytes: 8 << 20, timeoutMilliseconds: 100)
      for record in records {
        let wire = WireRecord(
          key: record.key, value: record.value,
          headers: record.headers.map { WireRecord.Header($0.name, $0.value) })
        _ = try EventCodec.decode(wire, topic: .likes, now: .now)
        decoded += 1
      }
    }
    let ours = seconds(since: started ?? .now)
    consumer.close()

    let kcatStarted = ContinuousClock.now
    let kcat = try ChildProcess(
      "/usr/bin/env",
      [
        "kcat", "-C", "-b", stack.broker.bootstrap, "-t", Topic.likes.name(), "-o", "beginning",
        "-e", "-q", "-f", "", "-X", "fetch.wait.max.ms=100", "-X", "check.crcs=true",
      ])
    guard kcat.wait(seconds: 60) == .exited(0) else {
      throw BenchError(description: "kcat did not read the topic to its end")
    }
    let theirs = seconds(since: kcatStarted)
    measured[.consumedPerSecond] = Double(likes) / ours
    measured[.kcatPerSecond] = Double(likes) / theirs
    measured[.consumedToKcat] = theirs / ours
  }
}
