import Events
import Postgres
import TestSupport
import Testing
import Verification
import Workload

/// Comparisons of correct tables find no differences.
@Suite struct CleanTests {
  @Test("every table of the schema is listed")
  func listed() throws {
    let connection = try TestDatabase.connection()
    let tables = try connection.query(
      """
      SELECT c.relname::text FROM pg_class c
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'S')
        AND NOT c.relispartition
        AND NOT EXISTS (
          SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('i', 'a', 'e'))
      """
    ).map { try $0.text(0) }
    let known = Set(CanonicalTable.all.flatMap(\.covers))
      .union(CanonicalTable.ownedByPipeline.keys)
    #expect(tables.count > 10)
    #expect(Set(tables).subtracting(known) == [])
  }

  @Test("the tables match the model, as a whole and in slices, excluding dead letters")
  func verified() throws {
    var generator = SeededGenerator()
    let seed = UInt64.random(in: 1...1_000_000, using: &generator)
    let log = MemoryLog()
    try log.append(SocialWorkload(users: 60, events: 2000, seed: seed))
    // Poison in the middle, and a final record that the workers have not read.
    log.append(WireRecord(key: [1], value: [2], headers: []), to: .posts)
    try log.append(SocialWorkload(users: 60, events: 500, seed: seed + 1))
    let tables = try Tables(log)
    try tables.applyAll(pushLimit: 12)
    try log.append(SocialWorkload(users: 60, events: 50, seed: seed + 2))
    for slices in [1, 7] {
      let report = try tables.verify(slices: slices)
      #expect(report.lines.sorted().prefix(5) == [], "seed \(seed), \(slices) slices")
      #expect(report.rows > 3000)
      #expect(report.tables.filter { $0.expected == 0 }.map(\.name) == [])
    }
  }

  @Test("events that disagree about recipients, and ongoing reviews, are not differences")
  func disagreeing() throws {
    var random = SeededGenerator()
    let people = (0..<9).map { "person-\($0)" }
    let events = (0..<1200).map { number in
      let (one, other) = (
        people.randomElement(using: &random)!, people.randomElement(using: &random)!
      )
      let post = "post-\(Int.random(in: 0..<6, using: &random))"
      let payload: Payload =
        switch Int.random(in: 0..<10, using: &random) {
        case 0...3: .like(one, post, of: other)
        case 4: .unlike(one, post, of: other)
        case 5...7:
          .message("m\(Int.random(in: 0..<40, using: &random))", from: one, to: other, "hi")
        case 8: .mute(one, "like")
        default: .unmute(one, "like")
        }
      // Three days, in random order.
      let seconds = Int64.random(in: 0..<260_000, using: &random)
      return Event(
        id: "e\(number)", source: "test",
        time: EventTime(microseconds: 1_735_689_600_000_000 + seconds * 1_000_000), payload: payload
      )
    }
    let log = MemoryLog()
    try log.append(events)
    let tables = try Tables(log)
    try tables.applyAll(batch: 50)
    for slices in [1, 5] { #expect(try tables.verify(slices: slices).lines == []) }
    // As if a late unmuting had just been applied: a review, and contributions that it will
    // restore.
    try tables.admin.script(
      """
      INSERT INTO notification_reviews
        (recipient, type, after_time, upto_time, from_day, to_day, caused_at)
      SELECT r.user_id, t, '-infinity', 'infinity', '-infinity', 'infinity', now()
      FROM notification_recipients r, generate_series(0, 4) t;
      UPDATE notification_actors SET muted = true WHERE active AND hashtext(source) % 2 = 0
      """)
    for slices in [1, 5] { #expect(try tables.verify(slices: slices).lines == []) }
    // After the worker has finished the review, nothing has changed.
    let others = try Tables(log)
    try others.applyAll()
    try tables.applyAll()
    #expect(try tables.compare(expected: others).lines == [])
    #expect(try tables.admin.query("SELECT FROM verify_reviews()").isEmpty)
    // The same for blocks and for silences of actors and subjects.
    try tables.admin.script(
      """
      INSERT INTO notification_scoped_reviews (recipient, scope, type, value, after_time, caused_at)
      SELECT DISTINCT a.recipient, 'actor', -1, a.actor, timestamptz '-infinity', now()
      FROM notification_actors a WHERE a.actor < 'person-3'
      UNION
      SELECT DISTINCT a.recipient, 'subject', a.type, a.subject, timestamptz '-infinity', now()
      FROM notification_actors a WHERE a.subject = 'post-1' AND a.recipient > 'person-4';
      UPDATE notification_actors a SET muted = NOT a.muted
      WHERE a.active AND hashtext(a.source) % 2 = 0 AND EXISTS (
        SELECT FROM notification_scoped_reviews v
        WHERE v.recipient = a.recipient
          AND (v.scope = 'actor' AND v.value = a.actor
            OR v.scope = 'subject' AND v.type = a.type AND v.value = a.subject))
      """)
    for slices in [1, 5] { #expect(try tables.verify(slices: slices).lines == []) }
    try tables.applyAll()
    #expect(try tables.compare(expected: others).lines == [])
    #expect(try tables.admin.query("SELECT FROM verify_reviews()").isEmpty)
  }

  @Test(
    "alarms of authors' posts are not differences while they are queued, and are once they are not")
  func queued() throws {
    let events = [
      Payload.authorSubscribed(.with { ($0.author, $0.subscriber) = ("star", "ann") }),
      .authorSubscribed(.with { ($0.author, $0.subscriber) = ("star", "bob") }),
      .post("p", by: "star", title: "t", mentions: []),
      .post("q", by: "star", title: "t", mentions: []),
    ].enumerated().map { number, payload in
      Event(
        id: "e\(number)", source: "test",
        time: EventTime(microseconds: 1_735_689_600_000_000 + Int64(number)), payload: payload)
    }
    // Two logs, because each has the changes that its own workers publish.
    let both = try (0..<2).map { _ in
      let log = MemoryLog()
      try log.append(events)
      let tables = try Tables(log)
      try tables.applyAll()
      return tables
    }
    let (tables, others) = (both[0], both[1])
    try tables.admin.script(
      """
      DELETE FROM notification_actors WHERE type = 13 AND (subject = 'p' OR recipient = 'bob');
      DELETE FROM notifications WHERE type = 13 AND (subject = 'p' OR recipient = 'bob');
      DELETE FROM alarms WHERE type = 13 AND (post_id = 'p' OR recipient = 'bob');
      INSERT INTO subscription_work (author, post_id, subscriber, caused_at)
      VALUES ('star', 'p', '', now()), ('star', '', 'bob', now())
      """)
    for slices in [1, 3] { #expect(try tables.verify(slices: slices).lines == []) }
    #expect(try tables.compare(expected: others).lines.count == 9, "without the queue")
    let found = "SELECT FROM verify_subscriptions() WHERE found = 'pending'"
    #expect(try tables.admin.query(found).count == 2)
    #expect(
      try tables.admin.query("SELECT FROM verify_subscriptions() WHERE found <> 'pending'").isEmpty)
    try tables.admin.script("DELETE FROM subscription_work WHERE subscriber = 'bob'")
    let unqueued = try tables.verify(slices: 1).lines
    #expect(unqueued.count == 3, "\(unqueued)")
    #expect(
      try tables.admin.query("SELECT FROM verify_subscriptions() WHERE found <> 'pending'").count
        == 1)
    try tables.admin.script("DELETE FROM subscription_work")
    let all = try tables.verify(slices: 2).lines
    #expect(all.count == 9, "\(all)")
    #expect(try tables.admin.query("SELECT FROM verify_subscriptions()").count == 3)
  }

  @Test("two databases built from one log, one by pushing and one by pulling, are equal")
  func equal() throws {
    var generator = SeededGenerator()
    let seed = UInt64.random(in: 1...1_000_000, using: &generator)
    let log = MemoryLog()
    try log.append(SocialWorkload(users: 60, events: 1200, seed: seed))
    let (one, other) = (try Tables(log), try Tables(log))
    try one.applyAll(pushLimit: 10_000)
    try other.applyAll(pushLimit: 3, batch: 77)
    #expect(try one.compare(expected: other).lines == [], "seed \(seed)")
    #expect(
      try CanonicalTable.all.map { try $0.checksum(on: one.admin) }
        == CanonicalTable.all.map { try $0.checksum(on: other.admin) })
    // Trimming at a different floor is not a difference either.
    try one.admin.script(
      """
      INSERT INTO feeds (owner, floor)
      SELECT owner, percentile_disc(0.5) WITHIN GROUP (ORDER BY post_key)
      FROM feed_entries GROUP BY owner
      ON CONFLICT (owner) DO UPDATE SET floor = excluded.floor;
      DELETE FROM feed_entries e USING feeds f
      WHERE f.owner = e.owner AND e.post_key < f.floor AND e.owner % 2 = 0
      """)
    #expect(try one.compare(expected: other).lines == [], "seed \(seed), trimmed")
    #expect(try one.verify(slices: 3).lines == [], "seed \(seed), trimmed")
  }

  @Test("a log without its beginning is rejected and named")
  func incomplete() throws {
    let log = MemoryLog()
    try log.append(SocialWorkload(users: 20, events: 200, seed: 1))
    let tables = try Tables(log)
    try tables.applyAll()
    #expect {
      _ = try tables.verify(log: ForgetfulLog(log: log))
    } throws: { error in
      "\(error)".contains("test.follows[0] starts at offset 3")
    }
  }
}
