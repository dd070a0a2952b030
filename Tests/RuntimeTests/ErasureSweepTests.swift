import Events
import Postgres
import TestSupport
import Testing

@testable import Handling

/// The door before handlers and the engine of sweeps, with a handler that keeps one row for each event.
@Suite struct ErasureSweepTests {
  let url: String
  let connection: Connection

  init() throws {
    url = try TestDatabase.fresh()
    connection = try Connection(url, applicationName: "test")
    try connection.script("CREATE TABLE likes_by (actor text, at timestamptz)")
  }

  private static let sweep = ErasureSweep(
    worker: "fanout",
    stages: [
      { person in
        var work = Work()
        let deleted = work.add(
          Statement(
            """
            DELETE FROM likes_by WHERE ctid = ANY (ARRAY(
              SELECT ctid FROM likes_by WHERE actor = $1 AND at <= $2 LIMIT 2))
            """, person.parameters))
        work.finish = {
          let count = $0[deleted].affectedRows
          return Outcome(counts: ["deleted": count], hasMore: count == 2)
        }
        return work
      }
    ])

  private static let handler = Handler(
    name: "fanout", topics: [.likes, .erasures],
    apply: { topic, events in
      guard topic == .likes else { return erasuresWork(events, worker: "fanout") }
      return Work(
        events.map { event in
          guard case .likeCreated(let like) = event.payload else { return Statement("SELECT") }
          return Statement(
            "INSERT INTO likes_by VALUES ($1, $2)",
            [.text(like.actor), .timestamptz(event.time.microseconds)])
        })
    }, backlog: { sweep.backlog() })

  private func like(_ actor: String, at seconds: Int64) -> Event {
    event(.like(actor, "p", of: "owner"), at: seconds)
  }

  private func erasure(_ user: String, at seconds: Int64) -> Event {
    event(.userErased(.with { $0.user = user }), at: seconds)
  }

  private func event(_ payload: Payload, at seconds: Int64) -> Event {
    Event(
      id: "e\(seconds)", source: "test", time: EventTime(microseconds: seconds * 1_000_000),
      payload: payload)
  }

  private func apply(_ events: [Event], on other: Connection? = nil) throws {
    for event in events {
      try Self.handler.applyDirectly([event], topic: event.topic, on: other ?? connection)
    }
  }

  /// Runs pieces until none has more; returns how many rows each deleted. Ends early while a transaction, also of
  /// a test beside this one, has an id from before a stage.
  @discardableResult
  private func pieces(on other: Connection? = nil) throws -> [Int] {
    var deleted: [Int] = []
    var hasMore = true
    while hasMore {
      let piece = try Self.handler.runBacklogDirectly(on: other ?? connection)
      if let count = piece.counts["deleted"] { deleted.append(count) }
      hasMore = piece.hasMore
    }
    return deleted
  }

  /// Runs pieces until nobody is in the queue; returns how many rows each deleted.
  @discardableResult
  private func sweep(on other: Connection? = nil) async throws -> [Int] {
    var deleted: [Int] = []
    try await eventually("the end of the sweep") {
      deleted += try pieces(on: other)
      return try (other ?? connection).query("SELECT FROM fanout_erasures").isEmpty
    }
    return deleted
  }

  private func rows() throws -> [String] {
    try connection.query("SELECT actor, extract(epoch FROM at)::int FROM likes_by ORDER BY 1, 2")
      .map { "\(try $0.text(0))\(try $0.int(1))" }
  }

  private func erasures() throws -> [String] {
    try connection.query(
      """
      SELECT coalesce(user_id, 'done') || extract(epoch FROM erased_at)::int
      FROM erasures ORDER BY erased_at
      """
    ).map { try $0.text(0) }
  }

  @Test("whatever comes, before or after the erasure, only what is later than it stays")
  func orders() async throws {
    var random = SeededGenerator()
    let events =
      (1...9).map { like("a", at: $0) } + (1...9).map { like("b", at: $0) }
      + [erasure("a", at: 4), erasure("a", at: 4), erasure("a", at: 2), erasure("c", at: 9)]
    for event in events.shuffled(using: &random) {
      try apply([event])
      if Bool.random(using: &random) { try pieces() }
    }
    try await sweep()
    let expected = (5...9).map { "a\($0)" } + (1...9).map { "b\($0)" }
    #expect(try rows() == expected)
  }

  @Test("whoever's piece could not be done comes after the others")
  func postponed() throws {
    try apply([erasure("a", at: 1), erasure("b", at: 2)])
    func first() throws -> String {
      try connection.query(
        "SELECT user_id FROM fanout_erasures ORDER BY worked_at, user_id LIMIT 1"
      ).only.text(0)
    }
    let failing = try first()
    _ = try connection.transaction { try Self.sweep.postponement().run(on: connection) }
    #expect(try first() != failing)
  }

  @Test("finding whose turn it is does not read the whole queue")
  func turn() throws {
    try connection.script(
      """
      INSERT INTO fanout_erasures (user_id, erased_at, worked_at)
        SELECT 'user-' || n, now(), now() + n * interval '1 ms' FROM generate_series(1, 30000) n;
      ANALYZE
      """)
    let sql = try #require(Self.sweep.backlog().statements.first).sql
    let read = try connection.blocksTouched(by: sql)
    #expect(read < 50, "\(read)")
  }

  @Test("whoever may be erased is found behind any number of people who wait for another worker")
  func behindOthers() throws {
    try connection.script(
      """
      INSERT INTO alarm_erasures (user_id, erased_at, worked_at)
        SELECT 'user-' || n, now(), now() + n * interval '1 ms' FROM generate_series(1, 1500) n;
      INSERT INTO erasures (person_hash, erased_at, waits_for, user_id)
        SELECT person_hash('user-' || n), now(), '{notification,alarm}', 'user-' || n
        FROM generate_series(1, 1499) n
      """)
    let sweep = ErasureSweep(worker: "alarm", after: ["notification"], stages: [])
    let next = try #require(sweep.backlog().statements.first)
    try connection.query("BEGIN")
    #expect(try connection.query(next).map { try $0.text("user_id") } == ["user-1500"])
    try connection.query("ROLLBACK")
  }

  @Test("a sweep works in pieces, and is repeated for a later erasure only")
  func repeated() async throws {
    try apply((1...7).map { like("a", at: $0) } + [erasure("a", at: 6)])
    #expect(try await sweep() == [2, 2, 2, 0])
    #expect(try rows() == ["a7"])
    // The other workers are still waited for, so the id is known.
    #expect(try erasures() == ["a6"])
    for worker in ["notification", "alarm", "reminder"] {
      try connection.script(
        "SELECT erasure_done('\(worker)', user_id, erased_at) FROM erasures")
    }
    #expect(try erasures() == ["done6"])
    try apply([erasure("a", at: 5)])
    try await sweep()
    #expect(try erasures() == ["done6"])
    #expect(try rows() == ["a7"])
    try apply([erasure("a", at: 8)])
    try await sweep()
    #expect(try erasures() == ["a8"])
    #expect(try rows() == [])
  }

  @Test(
    "a sweep waits for a transaction that asked before the erasure was committed",
    arguments: [true, false])
  func horizon(isOlder: Bool) async throws {
    let other = try Connection(url, applicationName: "test")
    try other.query("BEGIN")
    if isOlder { try other.query("SELECT pg_current_xact_id()") }
    try apply([like("a", at: 2)])
    try connection.query("BEGIN")
    _ = try Self.handler.applyUnerased([erasure("a", at: 3)], topic: .erasures, on: connection)
      .run(on: connection)
    try other.query("SELECT pg_current_xact_id()")
    let work = try Self.handler.applyUnerased([like("a", at: 1)], topic: .likes, on: other)
    try connection.query("COMMIT")
    for _ in 0..<10 { try pieces() }
    #expect(try rows() == ["a2"])
    #expect(try connection.query("SELECT is_erasing('a')").only.bool(0))
    _ = try work.run(on: other)
    try other.query("COMMIT")
    try await sweep()
    #expect(try rows() == [])
  }

  @Test("tables that are rebuilt beside the live ones do not say that the live ones are swept")
  func shadow() async throws {
    try connection.script(
      """
      CREATE SCHEMA shadow;
      CREATE TABLE shadow.fanout_erasures (LIKE fanout_erasures INCLUDING ALL);
      CREATE TABLE shadow.likes_by (LIKE likes_by);
      """)
    try apply([like("a", at: 1), erasure("a", at: 2)])
    let shadow = try Connection(url, applicationName: "test")
    try shadow.script("SET search_path = shadow, public")
    try apply([like("a", at: 1), erasure("a", at: 2)], on: shadow)
    #expect(try shadow.query("SELECT FROM likes_by").isEmpty)
    try await sweep(on: shadow)
    let waits = try connection.query("SELECT 'fanout' = ANY (waits_for) FROM erasures")
    #expect(try waits.only.bool(0))
    try await sweep()
    #expect(try rows() == [])
    let done = try connection.query("SELECT 'fanout' = ANY (waits_for) FROM erasures")
    #expect(try !done.only.bool(0))
  }

  @Test("the hash in the database is HMAC-SHA256, with a key of each database's own")
  func hash() throws {
    // RFC 4231, test case 2.
    try connection.script(
      """
      UPDATE erasure_key SET
        inner_pad = decode('7c535053' || repeat('36', 60), 'hex'),
        outer_pad = decode('16393a39' || repeat('5c', 60), 'hex')
      """)
    let hash = try connection.query(
      "SELECT encode(person_hash('what do ya want for nothing?'), 'hex')")
    #expect(
      try hash.only.text(0) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
  }
}
