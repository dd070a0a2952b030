import Events
import Kafka
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Rebuild

/// What a swap exchanges, and what prevents it.
@Suite struct SwapTests {
  let fixture: Fixture

  init() throws { fixture = try Fixture() }

  @Test func `tables, offsets and epochs are swapped, and swapped back`() throws {
    try fixture.stand("fanout", .posts, at: 40)
    try fixture.stand("fanout", .follows, at: 50)
    try fixture.connection().script("INSERT INTO users (user_id) VALUES ('former')")
    try fixture.connection().script("SELECT feed_touch('former')")
    try fixture.with { try $0.run([.feeds]) }
    // A topic that was never consumed has nothing to apply.
    #expect(
      try fixture.offsets(in: "magpie_shadow").map { $0.split(separator: " ")[1...2].joined() }
        == ["follows50", "messages0", "posts40"])
    try fixture.connection().script(
      "INSERT INTO magpie_shadow.users (user_id) VALUES ('rebuilt'), ('too')")

    let report = try fixture.with { try $0.swap() }
    #expect(report.formerSchema == "magpie_old")
    #expect(try fixture.texts("SELECT user_id FROM users ORDER BY 1") == ["rebuilt", "too"])
    #expect(try fixture.texts("SELECT user_id FROM magpie_old.users") == ["former"])
    // Visits are not in the log, so they stay.
    #expect(try fixture.texts("SELECT user_id FROM feed_visits") == ["former"])
    let fenced = try fixture.offsets()
    #expect(
      fenced.map { $0.split(separator: " ")[1...2].joined() }
        == ["follows50", "messages0", "posts40"])
    #expect(fenced.allSatisfy { Int($0.split(separator: " ")[3]) ?? 0 > 1 })
    #expect(fenced.filter { $0.contains("posts") }.allSatisfy { $0.hasSuffix(" 8") }, "\(fenced)")
    // New people get keys that are unused in these tables.
    try fixture.connection().script("INSERT INTO users (user_id) VALUES ('new')")

    try fixture.with { try $0.swapBack() }
    #expect(try fixture.texts("SELECT user_id FROM users") == ["former"])
    #expect(try fixture.texts("SELECT count(*)::text FROM magpie_old.users") == ["3"])
    #expect(try fixture.with { try $0.drop() } == "magpie_old")
    #expect(try fixture.with { try $0.drop() } == nil)
    #expect(try fixture.texts("SELECT user_id FROM users") == ["former"])
  }

  @Test func `partitions by time go with their tables, whenever they were made`() throws {
    func partitions(_ schema: String) throws -> [String] {
      try fixture.texts(
        """
        SELECT relname::text FROM pg_class
        WHERE relnamespace = '\(schema)'::regnamespace AND relkind IN ('r', 'p')
          AND relname LIKE 'feed\\_entries%' ORDER BY 1
        """)
    }
    let keep = "SELECT feeds_keep_partitions('32 days', now() + interval '30 days')::text"
    #expect(try fixture.texts(keep) == ["true"])
    let current = try partitions("public")
    try fixture.with { try $0.run([.feeds]) }
    let incoming = try partitions("magpie_shadow")
    #expect(current != incoming)

    try fixture.with { _ = try $0.swap() }
    #expect(try partitions("public") == incoming)
    #expect(try partitions("magpie_old") == current)
    #expect(try fixture.texts(keep) == ["true"])
    let kept = try partitions("public")
    #expect(kept.count == incoming.count + 1)

    try fixture.with { try $0.swapBack() }
    #expect(try partitions("public") == current)
    #expect(try partitions("magpie_old") == kept)
  }

  @Test func `the last record's identity is swapped with the offset`() throws {
    try fixture.stand("fanout", .posts, at: 40)
    let known = "last_offset = 39, last_identity = '1-0000000000000001'"
    try fixture.connection().script("UPDATE consumer_offsets SET \(known)")
    let live =
      "SELECT coalesce(last_identity, 'unknown') FROM consumer_offsets WHERE topic ~ 'posts'"
    try fixture.with { try $0.run([.feeds]) }
    try fixture.with { try $0.swap() }
    // The rebuilt tables read no record, because their log holds none.
    #expect(try fixture.texts(live) == ["unknown"])
    try fixture.with { try $0.swapBack() }
    #expect(try fixture.texts(live) == ["1-0000000000000001"])
  }

  @Test
  func `rebuilt tables get as far as the live ones were before their offsets were moved back`()
    throws
  {
    try fixture.stand("fanout", .posts, at: 40)
    let reset = "UPDATE consumer_offsets SET next_offset = 3, applied_offset = 40"
    try fixture.connection().script(reset)
    func posts() throws -> [String] {
      try fixture.texts(
        """
        SELECT next_offset || ' ' || coalesce(applied_offset, 0) FROM consumer_offsets
        WHERE topic ~ 'posts'
        """)
    }
    try fixture.with { try $0.run([.feeds]) }
    try fixture.with { try $0.swap() }
    #expect(try posts() == ["40 0"])
    try fixture.connection().script("UPDATE consumer_offsets SET next_offset = 50")
    try fixture.with { try $0.swapBack() }
    #expect(try posts() == ["50 40"])
  }

  @Test func `an offset that was moved back from beyond the log's end is another log's`() throws {
    try fixture.stand("fanout", .posts, at: 40)
    try fixture.connection().script("UPDATE consumer_offsets SET applied_offset = 101")
    try fixture.with { try $0.run([.feeds]) }
    #expect(try fixture.offsets(in: "magpie_shadow").contains { $0.hasPrefix("fanout posts 40 ") })
  }

  @Test func `dead letters that the rebuild applied are resolved, and reopened by swapping back`()
    throws
  {
    try fixture.stand("fanout", .posts, at: 40)
    func letter(_ schema: String, _ offset: Int) throws {
      try fixture.connection().script(
        """
        INSERT INTO \(schema).dead_letters (consumer_group, topic, partition, record_offset,
          header_names, header_values, reason_code, reason, code_version)
        VALUES ('t.fanout', 't.posts', 0, \(offset), '{}', '{}', 'x', 'x', 'test')
        """)
    }
    func discard(_ offset: Int) throws {
      try fixture.connection().script(
        """
        UPDATE dead_letters SET state = 'discarded', resolved_at = now(), resolution = 'x'
        WHERE record_offset = \(offset)
        """)
    }
    for offset in [3, 4, 6, 7, 8, 60] { try letter("public", offset) }
    try discard(6)
    try fixture.with { try $0.run([.feeds]) }
    for offset in [4, 5, 8] { try letter("magpie_shadow", offset) }
    // Too late for the rebuild, which has applied 7, but not 8.
    for offset in [7, 8] { try discard(offset) }
    let states = "SELECT record_offset || ' ' || state FROM dead_letters ORDER BY record_offset"
    try fixture.with { try $0.swap() }
    #expect(
      try fixture.texts(states)
        == ["3 rebuilt", "4 open", "5 open", "6 discarded", "7 rebuilt", "8 discarded", "60 open"])
    // Discarded before the former tables catch up with it.
    try letter("public", 59)
    try discard(59)
    try fixture.connection().script(
      "UPDATE consumer_offsets SET next_offset = 61 WHERE topic ~ 'posts'")
    try fixture.with { try $0.swapBack() }
    #expect(
      try fixture.texts(states)
        == [
          "3 open", "4 open", "5 rebuilt", "6 discarded", "7 discarded", "8 discarded",
          "59 discarded", "60 open",
        ])
    #expect(
      try fixture.texts(
        "SELECT what FROM dead_letter_history WHERE record_offset = 3 ORDER BY entry")
        == ["failed", "rebuilt", "reopened"])
  }

  @Test func `the lineage of generations grows so that the two sides never write the same one`()
    throws
  {
    let lineage =
      "SELECT string_agg(generation::text, ',' ORDER BY generation) FROM "
      + "notification_generations"
    try fixture.with { try $0.run([.notifications, .alarms]) }
    var found = try fixture.texts(lineage)
    for back in [false, true, true] {
      try fixture.with { _ = try back ? $0.swapBack() : $0.swap() }
      found += try fixture.texts(lineage)
    }
    #expect(found == ["1", "2", "1,3", "2,4"])
    // These alarms cannot be rebuilt from the log alone.
    try fixture.with { rebuild in
      _ = try rebuild.drop()
      #expect(throws: RebuildError.self) { try rebuild.run([.alarms]) }
    }
  }

  @Test func `how far digests are decided is carried over, and back`() throws {
    let connection = try fixture.connection()
    try fixture.with { try $0.run([.reminders]) }
    let columns =
      "reminders (user_id, reminder_id, version_time, version_id, definition, partition, decided_through, zone)"
    func row(_ user: String, _ reminder: String, _ version: Int, _ decided: String) -> String {
      "('\(user)', '\(reminder)', '2026-11-0\(version)', 'e', '{}', 0, '\(decided)', 'UTC')"
    }
    let (before, after, wrong) = (
      "2026-11-02 08:00:00", "2026-11-05 08:00:00", "2199-01-01 08:00:00"
    )
    for (schema, rows) in [
      (
        "public",
        [
          row("ann", "", 1, after), row("ann", "r", 1, after), row("bo", "", 1, after),
          row("cy", "", 1, before), row("dee", "", 1, wrong),
        ]
      ),
      (
        "magpie_shadow",
        [
          row("ann", "", 1, before), row("ann", "r", 1, before), row("bo", "", 2, before),
          row("cy", "", 1, after), row("dee", "", 1, before),
        ]
      ),
    ] {
      try connection.script(
        "INSERT INTO \(schema).\(columns) VALUES \(rows.joined(separator: ", "))")
    }
    let decided =
      "SELECT user_id || reminder_id || ' ' || decided_through FROM reminders ORDER BY 1"
    try fixture.with { try $0.swap() }
    let swapped = [
      "ann \(after)", "annr \(before)", "bo \(before)", "cy \(after)", "dee \(before)",
    ]
    #expect(try fixture.texts(decided) == swapped)
    try connection.script(
      "UPDATE reminders SET decided_through = '2026-11-06 08:00' WHERE user_id = 'cy'")
    try fixture.with { try $0.swapBack() }
    #expect(try fixture.texts(decided).contains("cy 2026-11-06 08:00:00"))
  }

  @Test func `a one-time reminder that has rung is not due after the swap`() throws {
    let connection = try fixture.connection()
    try fixture.with { try $0.run([.reminders]) }
    let at = "2026-11-05 08:00:00"
    func row(_ reminder: String, version: Int = 1, _ more: String = "", next: String?) -> String {
      let next = next.map { "'\($0)'" } ?? "NULL"
      let decided = next == "NULL" ? at : "2026-11-01 08:00:00"
      return """
        ('ann', '\(reminder)', '2026-11-0\(version)', 'e', '{"form": "reminder"\(more)}', 0, '\(decided)', 'UTC',
          \(next), \(next)::timestamp AT TIME ZONE 'UTC')
        """
    }
    let daily = #", "repeats": "FREQ=DAILY""#
    for (schema, rows) in [
      (
        "public",
        [
          row("rung", next: nil), row("edited", next: nil), row("repeated", daily, next: nil),
          row("waiting", next: at),
        ]
      ),
      (
        "magpie_shadow",
        [
          row("rung", next: at), row("edited", version: 2, next: at),
          row("repeated", daily, next: at), row("waiting", next: at),
        ]
      ),
    ] {
      try connection.script(
        """
        INSERT INTO \(schema).reminders (user_id, reminder_id, version_time, version_id, definition, partition,
          decided_through, zone, next_at, due_at)
        VALUES \(rows.joined(separator: ", "))
        """)
    }
    try fixture.with { try $0.swap() }
    #expect(
      try fixture.texts("SELECT reminder_id FROM reminders WHERE due_at < now() ORDER BY 1")
        == ["edited", "repeated", "waiting"])
    #expect(
      try fixture.texts("SELECT decided_through::text FROM reminders WHERE due_at IS NULL") == [at])
  }

  @Test func `an added view over the tables is named and prevents the swap`() throws {
    try fixture.with { try $0.run([.feeds]) }
    try fixture.connection().script("CREATE VIEW theirs AS SELECT count(*) FROM posts")
    let error = #expect(throws: RebuildError.self) { try fixture.with { try $0.swap() } }
    #expect(error?.reason.contains("theirs") == true)
    #expect(
      try fixture.texts("SELECT nspname::text FROM pg_namespace WHERE nspname ~ 'magpie'")
        == ["magpie_shadow"])
  }

  @Test func `a migration while the last records are applied prevents the swap`() throws {
    for topic in [Topic.follows, .messages, .posts] {
      try fixture.stand("fanout", topic, at: 100)
    }
    try fixture.with { try $0.run([.feeds]) }
    fixture.log.holds(0..<120)
    try fixture.connection().query(
      "UPDATE consumer_offsets SET next_offset = 120 WHERE topic = 't.posts'")
    fixture.log.whenReading { [fixture] _ in
      try fixture.connection().script(
        """
        INSERT INTO schema_migrations SELECT max(version) + 1, 'next', 'c' FROM schema_migrations
        HAVING NOT bool_or(name = 'next')
        """)
    }
    let error = #expect(throws: RebuildError.self) { try fixture.with { try $0.swap() } }
    #expect(error?.reason.contains("was migrated") == true)
    #expect(
      try fixture.texts("SELECT nspname::text FROM pg_namespace WHERE nspname ~ 'magpie'")
        == ["magpie_shadow"])
  }

  @Test func `complete tables that nobody swapped in are dropped only on request`() throws {
    try fixture.with { try $0.run([.feeds]) }
    let error = #expect(throws: RebuildError.self) { try fixture.with { _ = try $0.drop() } }
    #expect(error?.nextStep.contains("--drop-rebuilt") == true)
    #expect(try fixture.with { try $0.dropped(rebuilt: true) } == "magpie_shadow")
    try fixture.connection().script("UPDATE magpie_shadow.rebuild_state SET completed_at = NULL")
    #expect(try fixture.with { try $0.drop() } == "magpie_shadow")

    try fixture.with { try $0.run([.feeds]) }
    #expect(try fixture.with { try $0.drop(rebuilt: true) } == "magpie_shadow")
    try fixture.with { try $0.run([.feeds]) }
    try fixture.with { _ = try $0.swap() }
    #expect(try fixture.with { try $0.drop(rebuilt: true) } == nil)
    #expect(try fixture.with { try $0.drop() } == "magpie_old")
  }

  @Test func `a login that could not swap is refused before it rebuilds`() throws {
    let login = "rebuilder_\(UInt32.random(in: 0...UInt32.max))"
    let connection = try fixture.connection()
    try connection.script("CREATE ROLE \(login) LOGIN IN ROLE magpie_reader")
    defer { try? connection.script("DROP ROLE \(login)") }
    func nextStep() throws -> String? {
      let rebuild = try fixture.rebuild(user: login)
      defer { rebuild.close() }
      return #expect(throws: RebuildError.self) { try rebuild.run([.feeds]) }?.nextStep
    }
    #expect(try nextStep() == "GRANT pg_read_all_stats to it.")
    // The tables would then be its own.
    try connection.script("GRANT pg_read_all_stats TO \(login)")
    #expect(try nextStep()?.hasPrefix("Log in as ") == true)
  }

  @Test func `only one process at a time may rebuild`() throws {
    try fixture.with { _ in
      let error = #expect(throws: RebuildError.self) { try fixture.with { _ in } }
      #expect(error?.reason.contains("another process") == true)
    }
    try fixture.with { _ in }
  }

  @Test func `a log without its beginning is rejected unless accepted`() throws {
    fixture.log.holds(5..<100)
    let error = #expect(throws: RebuildError.self) {
      try fixture.with { try $0.run([.feeds]) }
    }
    #expect(error?.reason.contains("starts at offset 5") == true)
    let rebuild = try fixture.rebuild(acceptsMissingRecords: true)
    defer { rebuild.close() }
    try rebuild.run([.feeds])
    #expect(try fixture.offsets(in: "magpie_shadow").allSatisfy { $0.contains(" 100 ") })
  }

  @Test func `any number of undecodable records does not stop a rebuild`()
    throws
  {
    fixture.log.holds(0..<1200)
    fixture.log.holdsNonsense(of: .posts)
    try fixture.stand("fanout", .posts, at: 1200)
    let done = try fixture.with { try $0.run([.feeds]) }
    #expect(done.deadLetters == 1200)
    #expect(
      try fixture.texts("SELECT count(*)::text FROM magpie_shadow.dead_letters") == ["1200"])
  }

  @Test func `rebuilt tables can be advanced to exact offsets, but not moved back`() throws {
    try fixture.stand("fanout", .posts, at: 10)
    let posts = TopicPartition(topic: "t.posts", partition: 0)
    try fixture.with { rebuild in
      #expect(throws: RebuildError.self) { try rebuild.advance(to: [:]) }
      try rebuild.run([.feeds])
      try rebuild.advance(to: ["t.fanout": [posts: 25]])
      #expect(try fixture.offsets(in: "magpie_shadow").contains { $0.hasPrefix("fanout posts 25") })
      let error = #expect(throws: RebuildError.self) {
        try rebuild.advance(to: ["t.fanout": [posts: 20]])
      }
      #expect(error?.reason.contains("t.posts[0]") == true)
    }
  }

  @Test func `follows that came during an interruption are applied once entries can be looked up`()
    throws
  {
    struct Interruption: Error {}
    try fixture.stand("fanout", .follows, at: 50)
    try fixture.stand("fanout", .posts, at: 100)
    fixture.log.whenReading { if $0 == .posts { throw Interruption() } }
    #expect(throws: Interruption.self) { try fixture.with { try $0.run([.feeds]) } }
    try fixture.connection().query(
      "UPDATE consumer_offsets SET next_offset = 90 WHERE topic = 't.follows'")
    let keys = Mutex<[String]>([])
    fixture.log.whenReading { [fixture] in
      guard $0 == .follows else { return }
      let found = try fixture.texts(
        """
        SELECT count(*)::text FROM pg_constraint
        WHERE conrelid = 'magpie_shadow.feed_entries'::regclass AND contype = 'p'
        """)
      keys.withLock { $0 += found }
    }
    try fixture.with { _ = try $0.run([.feeds]) }
    #expect(keys.withLock { $0 } == ["1"])
    #expect(try fixture.offsets(in: "magpie_shadow").contains { $0.hasPrefix("fanout follows 90") })
  }

  @Test func `if a part of a rebuild fails, the others end before they have read everything`()
    throws
  {
    struct Broken: Error {}
    try fixture.with { rebuild in
      fixture.log.whenReading { [counter = rebuild.counter] topic in
        if topic == .follows { throw Broken() }
        if topic == .reminders {
          try block(until: "the other part has failed") { (try? counter.check()) == nil }
        }
      }
      #expect(throws: Broken.self) { try rebuild.run([.feeds, .reminders]) }
    }
    #expect(
      try fixture.offsets(in: "magpie_shadow").contains { $0.hasPrefix("reminder reminders 0 ") })
  }

  @Test func `a plan describes the work without doing it`() throws {
    try fixture.stand("fanout", .posts, at: 40)
    let plan = try fixture.with { try $0.plan([.feeds]) }
    #expect(plan.total.records == 40)
    #expect(plan.topics.map(\.topic) == ["t.follows", "t.messages", "t.posts"])
    fixture.log.lacks(30..<50)
    let gapped = try fixture.with { try $0.plan([.feeds]) }
    #expect(gapped.total.records == 30 && gapped.topics.map(\.missing) == [20, 20, 20])
    fixture.log.lacks(0..<0)
    #expect(try fixture.with { try $0.dropped() } == nil)
    try fixture.with { _ = try $0.run([.feeds]) }
    #expect(try fixture.with { try $0.plan([.feeds]) }.total.records == 0)
    #expect(throws: RebuildError.self) { try fixture.with { try $0.plan([.reminders]) } }
    try fixture.with { _ = try $0.swap() }
    #expect(throws: RebuildError.self) { try fixture.with { try $0.plan([.feeds]) } }
  }
}
