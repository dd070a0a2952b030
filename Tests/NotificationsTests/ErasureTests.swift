import Events
import Foundation
import Handling
import Model
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Notifications

/// Decision 0040: after the sweep, everything is as if the erased events had never been known, and what readers see is
/// so from the erasure's commit on.
@Suite("Forgetting a person")
struct ErasureTests {
  @Test(
    "any order, any batches and duplicates leave what the events without the person leave",
    arguments: seeds(3))
  func anyOrder(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let history = ErasureHistory(seed: seed, count: Int.random(in: 30...300, using: &random))
    let model = Model(history.left, kinds: testKinds)
    let expected = try World()
    try expected.apply(history.left)
    try expected.settle()
    for _ in 0..<2 {
      let world = try World()
      var log = history.events + history.erasures
      log += log.filter { _ in Bool.random(using: &random) }
      log.shuffle(using: &random)
      while !log.isEmpty {
        let count = min(log.count, Int.random(in: 1...60, using: &random))
        try world.apply(Array(log.prefix(count)))
        log.removeFirst(count)
        try expectNobodyErased(world, "seed \(seed)")
        for _ in 0..<Int.random(in: 0...12, using: &random) {
          try world.settle(pieces: 1)
          if Int.random(in: 0..<4, using: &random) == 0 {
            try expectNobodyErased(world, "seed \(seed)")
          }
        }
      }
      try world.forget()
      #expect(try world.shown() == model.shown, "seed \(seed)")
      #expect(try world.postCounts() == model.postCounts, "seed \(seed)")
      #expect(try world.violations() == [], "seed \(seed)")
      let (tables, others) = (
        try world.withoutEmptyRecipients(), try expected.withoutEmptyRecipients()
      )
      for (table, rows) in others { #expect(tables[table] == rows, "\(table), seed \(seed)") }
      for person in history.gone {
        let named = try world.tablesWith(person)
        #expect(named == [], "\(person), seed \(seed)")
      }
      try expectLastSnapshots(world, world.published, history)
    }
  }

  /// Two lanes share everything. Some transactions fail after publishing, and their records come again after
  /// the sweep.
  @Test("two connections with sweeps between their batches", arguments: seeds(2))
  func twoAtOnce(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let history = ErasureHistory(seed: seed, count: 400)
    let world = try World()
    let published = Mutex<[Event]>([])
    let failures = Mutex<[String]>([])
    var logs: [[Event]] = [[], []]
    for event in history.events + history.erasures + history.events.prefix(100) {
      logs[Int.random(in: 0...1, using: &random)].append(event)
    }
    let threads = logs.enumerated().map { index, log in
      let (url, shuffled) = (world.url, log.shuffled(using: &random))
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        do {
          try applyWithFailures(shuffled, url, seed: seed &+ UInt64(index), pieces: 4) { events in
            published.withLock { $0 += events }
          }
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
        done.signal()
      }
      return done
    }
    for thread in threads { thread.wait() }
    #expect(failures.withLock { $0 } == [], "seed \(seed)")
    try expectNobodyErased(world, "seed \(seed)")
    try world.forget()
    let model = Model(history.left, kinds: testKinds)
    #expect(try world.shown() == model.shown, "seed \(seed)")
    #expect(try world.postCounts() == model.postCounts, "seed \(seed)")
    #expect(try world.violations() == [], "seed \(seed)")
    for person in history.gone {
      #expect(try world.tablesWith(person) == [], "\(person), seed \(seed)")
    }
    try expectLastSnapshots(world, published.withLock { $0 } + world.published, history)
  }

  @Test(
    "'X and 3 others' is 'A and 2 others' from the erasure's commit on, and is published by the sweep"
  )
  func others() throws {
    let world = try World()
    try world.apply(
      ["person-a", "b", "c", "person-x"].enumerated().map { like($1, "p", of: "o", at: Double($0)) }
    )
    let sees = {
      try world.connection.query("SELECT actor, second_actor, actor_count FROM shown_notifications")
        .only
    }
    #expect(try sees().text(0) == "person-x")
    try world.apply(erasure("person-x", at: 10))
    for _ in 0..<2 {
      #expect(try sees().text(0) == "c")
      #expect(try sees().text(1) == "b")
      #expect(try sees().int(2) == 3)
      #expect(try world.connection.query("SELECT likes FROM post_stats('p')").only.int(0) == 3)
      try world.forget()
    }
    let last = try #require(lastSnapshots(world.published).values.first ?? nil)
    #expect((last.actor, last.secondActor, last.actorCount) == ("c", "b", 3))
  }

  @Test(
    "notifications of which nobody is left are retracted, those of the person are not mentioned again"
  )
  func retractions() throws {
    let world = try World()
    try world.apply(
      follow("person-x", "o", at: 1), follow("o", "person-x", at: 1),
      message("m", "person-x", to: "o", at: 2))
    try world.apply(erasure("person-x", at: 10))
    let published = world.published.count
    try world.forget()
    let sweep = world.published.dropFirst(published)
    #expect(sweep.map(\.key) == ["o", "o"])
    #expect(lastSnapshots(Array(sweep)).values.allSatisfy { $0 == nil })
    #expect(try world.shown() == [])
  }

  @Test(
    "an attempt that published and failed before the erasure leaves no snapshot of the person",
    arguments: [
      like("person-x", "p", of: "o", at: 1), follow("person-x", "o", at: 1),
      comment("c", by: "person-x", on: "p", of: "o", "hi", mentions: ["bob"], at: 1),
      comment("c", by: "ann", on: "p", of: "person-x", "hi", mentions: ["o"], at: 1),
      message("m", "person-x", to: "o", at: 1), post("p", by: "person-x", mentions: ["o"], at: 1),
      raised("grouped", to: "o", "s", "person-x", by: "person-x", at: 1),
      raised("grouped", to: "o", "s", "person-x", by: "ann", at: 1),
      raised("F901", to: "o", "s", "person-x", by: "person-x", arguments: ["title": "t"], at: 1),
    ])
  func phantom(event: Event) throws {
    let world = try World()
    var phantom: [Event] = []
    do {
      try world.connection.transaction {
        let work = try testHandler.apply(event.topic, [event])
        phantom = try work.run(on: world.connection).events
        throw Crash()
      }
    } catch is Crash {}
    let named = phantom.filter { $0.key != "person-x" }
    #expect(!named.isEmpty)
    try world.apply(erasure("person-x", at: 10))
    try world.forget()
    try world.apply(event)
    let last = lastSnapshots(named + world.published)
    #expect(last.values.allSatisfy { $0 == nil })
    #expect(try world.tablesWith("person-x") == [])
  }

  @Test(
    "an attempt that published and failed leaves no retraction of what the person would have overruled",
    arguments: [
      [like("ann", "p", of: "o", at: 1), like("ann", "p", of: "person-x", at: 2)],
      [like("ann", "p", of: "o", at: 1), unlike("ann", "p", of: "person-x", at: 2)],
      [message("m", "ann", to: "o", at: 1), message("m", "ann", to: "person-x", at: 2)],
      [
        comment("c", by: "ann", on: "p", of: "o", at: 1),
        comment("c", by: "ann", on: "p", of: "person-x", at: 2),
      ],
      [
        comment("c", by: "ann", on: "p", of: "o", mentions: ["bob"], at: 1),
        removal("c", by: "ann", on: "p", of: "person-x", at: 2),
      ],
      [
        post("p", by: "ann", mentions: ["o"], at: 1), postDeletion("p", by: "person-x", at: 2),
      ],
    ])
  func overruling(events: [Event]) throws {
    let world = try World()
    try world.apply(events[0])
    var phantom: [Event] = []
    do {
      try world.connection.transaction {
        phantom = try testHandler.apply(events[1].topic, [events[1]]).run(on: world.connection)
          .events
        throw Crash()
      }
    } catch is Crash {}
    let retracted = phantom.contains { event in
      if case .notificationRetracted(let data) = event.payload {
        data.recipient == "o"
      } else {
        false
      }
    }
    #expect(retracted)
    let earlier = world.published + phantom
    try world.apply(erasure("person-x", at: 10))
    try world.apply(events[1])
    try world.forget()
    let last = lastSnapshots(earlier + world.published)
    for (id, row) in try world.rows() { #expect(last[id]??.line == row) }
    #expect(try !world.rows().isEmpty)
  }

  @Test(
    "a comment whose removal named somebody else as the post's owner is forgotten with that person")
  func owners() throws {
    let world = try World()
    try world.apply(
      comment("c", by: "ann", on: "p", of: "o", "hi", at: 1),
      removal("c", by: "ann", on: "p", of: "person-x", at: 5), erasure("person-x", at: 10))
    try world.forget()
    #expect(try world.tablesWith("person-x") == [])
  }

  @Test("a post whose alarms were under way is taken back from all subscribers")
  func subscribers() throws {
    let world = try World()
    let subscribers = (0..<1500).map { "s\($0)" }
    try world.apply(subscribers.map { subscribe($0, to: "person-x", at: 0) })
    try world.apply(post("p", by: "person-x", "title", at: 1))
    try world.settle(pieces: 1)
    #expect(try !world.shown().isEmpty)
    try world.apply(erasure("person-x", at: 10))
    #expect(try world.shown() == [])
    try world.forget()
    let last = lastSnapshots(world.published)
    #expect(last.count == 1500)
    #expect(last.values.allSatisfy { $0 == nil })
    #expect(try world.tablesWith("person-x") == [])
  }

  @Test("a sweep works in bounded pieces, beside other background work")
  func pieces() throws {
    let world = try World()
    try world.apply((0..<3000).map { like("user-\($0)", "p\($0 % 9)", of: "person-x", at: 1) })
    try world.apply((0..<3000).map { like("person-x", "q\($0)", of: "o\($0 % 700)", at: 1) })
    try world.apply(follow("ann", "o1", at: 2), deleteAll("o1", at: 3))
    try world.apply(erasure("person-x", at: 10))
    var (most, pieces) = (0, 0)
    while try !world.isForgotten() {
      let before = try world.rowCount()
      try world.settle(pieces: 1)
      most = max(most, before - (try world.rowCount()))
      pieces += 1
      if pieces % 4 == 0 { try expectNobodyErased(world, "piece \(pieces)") }
    }
    #expect(most <= 1000)
    #expect(try world.connection.query("SELECT FROM notifications").isEmpty)
    #expect(try world.tablesWith("person-x") == [])
  }

  @Test("a post that mentioned many in turn is forgotten in bounded pieces")
  func withdrawnMentions() throws {
    let world = try World()
    for edit in 0..<15 {
      let mentions = (0..<100).map { "user-\(edit)-\($0)" }
      try world.apply(post("p", by: "person-x", mentions: mentions, at: Double(edit)))
      try world.apply(
        comment("c", by: "ann", on: "p", of: "person-x", mentions: mentions, at: Double(edit)))
    }
    try world.apply(erasure("person-x", at: 100))
    var most = 0
    while try !world.isForgotten() {
      let before = try world.rowCount()
      try world.settle(pieces: 1)
      most = max(most, before - (try world.rowCount()))
    }
    #expect(most <= 1000, "\(most)")
    #expect(try world.connection.query("SELECT FROM notification_actors").isEmpty)
    #expect(try world.connection.query("SELECT FROM post_facts").isEmpty)
    #expect(try world.tablesWith("person-x") == [])
  }

  @Test("a sweep does not wait for that of somebody whom it has to begin again")
  func besideAnother() throws {
    let world = try World()
    try world.apply(
      like("person-x", "p", of: "person-y", at: 1), block("person-x", "person-y", at: 2),
      subscribe("person-y", to: "person-x", at: 3),
      readConversation("person-y", with: "person-x", at: 4))
    try world.apply(erasure("person-x", at: 10), erasure("person-y", at: 10))
    let owner = try world.owner.get()
    try world.connection.script("SET lock_timeout = '2s'")
    // Those that delete subscriptions, contributions, blocks and read conversations.
    for stage in [2, 4, 7, 8] {
      try owner.script("UPDATE notification_erasures SET stage = \(stage), horizon = '3'")
      try owner.script(
        "BEGIN; SELECT FROM notification_erasures WHERE user_id = 'person-y' FOR UPDATE")
      try world.settle(pieces: 1)
      try owner.script("ROLLBACK")
      for table in ["author_subscriptions", "likes", "person_blocks", "conversation_reads"] {
        #expect(try world.connection.query("SELECT FROM \(table)").count == 1, "\(table) \(stage)")
      }
      #expect(
        try owner.query("SELECT FROM notification_erasures WHERE stage = $1", [.int8(Int64(stage))])
          .count == 2)
    }
    // A sweep goes back to its last stage at most, and only if it has begun that.
    for (stage, other, expected) in [(2, 6, 6), (7, 11, 10)] {
      try owner.script(
        """
        UPDATE notification_erasures SET stage = \(stage), horizon = '3';
        UPDATE notification_erasures SET stage = \(other), worked_at = 'infinity'
        WHERE user_id = 'person-y'
        """)
      try world.settle(pieces: 1)
      let row = try owner.query(
        "SELECT stage FROM notification_erasures WHERE user_id = 'person-y'")
      #expect(try row.only.int(0) == expected)
    }
    try owner.script("UPDATE notification_erasures SET stage = 0, horizon = NULL")
    try world.forget()
    #expect(try world.tablesWith("person-") == [])
  }

  @Test("facts that notify nobody are found without reading other people's")
  func found() throws {
    let owner = try World().owner.get()
    try owner.script(
      """
      INSERT INTO likes SELECT 'p' || g, 'u' || g, 'o', true, now(), now(), 'e' FROM generate_series(1, 30000) g;
      INSERT INTO message_facts (message_id, receiver, sender, version_time, version_id)
      SELECT 'm' || g, 'o', 'u' || g, now(), 'e' FROM generate_series(1, 30000) g;
      INSERT INTO comments
      SELECT 'c' || g, 'p', 'o', 'u' || g, '', '{}', true, now(), now(), 'e' FROM generate_series(1, 30000) g;
      ANALYZE;
      SET plan_cache_mode = force_generic_plan;
      SET enable_seqscan = off;
      PREPARE found (text, timestamptz, bigint) AS \(ErasedContributions.other.sql)
      """)
    let read = try owner.blocksTouched(by: "EXECUTE found ('u5', 'infinity', 500)")
    #expect(read < 100, "\(read)")
  }
}

/// What readers see: nothing of whoever is being erased, counts that equal the lists, and nothing that
/// `verify` objects to.
private func expectNobodyErased(_ world: World, _ comment: String) throws {
  #expect(try world.violations() == [], "\(comment)")
  let named = try world.lines(
    """
    SELECT n.notification_id::text FROM shown_notifications n
    JOIN erasures e ON e.user_id IN (n.recipient, n.actor, n.second_actor, n.source)
    """)
  #expect(named == [], "\(comment)")
  // Nobody blocks this reader.
  let counts = try world.owner.get().query(
    """
    SELECT p.post_id, s.likes, s.comments,
      (SELECT count(*) FROM likers_page('nobody', p.post_id, NULL, 200)),
      (SELECT count(*) FROM comment_page('nobody', p.post_id, NULL, 200))
    FROM (SELECT c.post_id FROM post_counts c ORDER BY c.post_id LIMIT 20) p
    CROSS JOIN LATERAL post_stats(p.post_id) s
    WHERE s.likes <= 200 AND s.comments <= 200
    """)
  for row in counts {
    let post = try row.text(0)
    #expect(try row.int(1) == row.int(3), "likes of \(post), \(comment)")
    #expect(try row.int(2) == row.int(4), "comments on \(post), \(comment)")
  }
  let people = try world.owner.get().query(
    """
    SELECT n.notification_id::text, n.actor_count,
      (SELECT count(*) FROM alarm_people(n.recipient, n.notification_id, NULL, 200))
    FROM (SELECT * FROM shown_notifications n WHERE n.actor_count BETWEEN 1 AND 200 LIMIT 20) n
    """)
  for row in people {
    let notification = try row.text(0)
    #expect(try row.int(1) == row.int(2), "people of \(notification), \(comment)")
  }
}

/// The last snapshot of each notification is its row, or a retraction if there is none. Consumers forget the erased
/// people's own ones by themselves.
private func expectLastSnapshots(_ world: World, _ published: [Event], _ history: ErasureHistory)
  throws
{
  let rows = try world.rows()
  let last = lastSnapshots(published)
  for (id, row) in rows { #expect(last[id]??.line == row) }
  for case (let id, let snapshot?) in last where rows[id] == nil {
    let erasedAt = try #require(history.erasedAt[snapshot.recipient], "\(id) has no row")
    #expect(snapshot.raisedAt <= erasedAt.microseconds, "\(id) has no row")
  }
}

extension World {
  fileprivate func isForgotten() throws -> Bool {
    try connection.query("SELECT FROM notification_erasures").isEmpty
  }

  /// Runs the backlog until nobody is left to forget, and acts as the other workers, which have nothing to forget.
  fileprivate func forget() throws {
    try settle()
    // Transactions of other tests delay a sweep.
    let deadline = Date(timeIntervalSinceNow: hangLimitSeconds)
    while try !isForgotten(), Date() < deadline {
      Thread.sleep(forTimeInterval: 0.01)
      try settle()
    }
    #expect(try isForgotten())
    try owner.get().query(
      """
      SELECT erasure_done(w.worker, e.user_id, e.erased_at)
      FROM (SELECT e.* FROM erasures e WHERE e.user_id IS NOT NULL) e
      CROSS JOIN unnest(ARRAY['fanout', 'alarm', 'reminder', 'push']) AS w (worker)
      """)
    #expect(try owner.get().query("SELECT FROM erasures WHERE user_id IS NOT NULL").isEmpty)
  }

  /// `everything`, where a recipient without watermarks is like none.
  fileprivate func withoutEmptyRecipients() throws -> [String: [BytewiseString]] {
    var tables = try everything()
    tables["notification_recipients"] = try lines(
      """
      SELECT (to_jsonb(r) - 'swept_at')::text FROM notification_recipients r
      WHERE greatest(r.read_all_at, r.deleted_all_at, r.seen_all_at) > '-infinity'
      """)
    return tables
  }

  /// The tables of which a row contains this text.
  fileprivate func tablesWith(_ text: String) throws -> [String] {
    try owner.get().query(
      """
      SELECT c.relname::text FROM pg_class c
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
        -- It names whom the other workers have yet to forget.
        AND c.relname <> 'erasures'
      """
    ).map { try $0.text(0) }.filter { table in
      try !owner.get().query(
        "SELECT FROM \"\(table)\" t WHERE strpos(t::text, $1) > 0 LIMIT 1", [.text(text)]
      ).isEmpty
    }
  }

  /// The number of contributions and likes.
  fileprivate func rowCount() throws -> Int {
    try connection.query(
      "SELECT greatest((SELECT count(*) FROM notification_actors), (SELECT count(*) FROM likes))"
    )
    .only.int(0)
  }
}
