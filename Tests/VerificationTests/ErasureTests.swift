import EmbeddedStack
import Events
import Foundation
import Model
import Postgres
import TestSupport
import Testing
import Verification
import Workload

/// Nothing is left of people who were erased, and all else is as if they had never been there.
@Suite struct ErasureTests {
  @Test(
    "in any order and twice over, nothing of erased people is left, and the tables are as without them",
    arguments: 0..<4)
  func anyOrder(order: Int) throws {
    var random = SeededGenerator()
    let seed = UInt64.random(in: 1...1_000_000, using: &random)
    let history = ErasedHistory(users: 30, events: 500, erasures: 7, seed: seed)
    #expect(history.erasures.count > 3)
    let log = MemoryLog()
    switch order {
    case 0: try log.append(history.events)
    case 1: try log.append(history.events.reversed())
    case 2: try log.append((history.events + history.events).shuffled(using: &random))
    default:
      try log.append(history.events.sorted { $0.type == .userErased && $1.type != .userErased })
    }
    let tables = try Tables(log)
    let workers = try tables.workers(pushLimit: order == 2 ? 5 : 10_000)
    var idle = 0
    while idle < 20 {
      // In any order, and some far behind others.
      let worker = workers.randomElement(using: &random)
      let batch = Int.random(in: 1...200, using: &random)
      idle = try worker?.step(batch: batch) == true ? 0 : idle + 1
    }
    try tables.applyAll()
    let others = try history.tablesWithoutThem(keyOf: tables)
    try expectForgotten(history, tables, others, "seed \(seed)")

    let archived = try log.spans(of: Topic.allCases.map { $0.name(prefix: log.prefix) })

    // Producers that were offline, a replay, and what was redriven.
    try log.append(history.events.shuffled(using: &random))
    try tables.applyAll(batch: 100)
    try expectForgotten(history, tables, others, "seed \(seed), again")

    let ids = try formerIDs(of: history.erasures.keys.map(\.string), on: tables.admin)
    let archive = ErasedLog(
      log: log, archived: archived,
      erasures: history.erasures.reduce(into: [:]) { erasures, person in
        erasures[person.key] = PersonErasure(
          erasedAt: person.value, doneAt: .now, formerID: ids[person.key] ?? "")
      })
    for slices in [1, 5] {
      let report = try tables.verify(slices: slices, log: archive)
      #expect(report.lines.sorted().prefix(5) == [], "seed \(seed), \(slices) slices, archive")
    }
    // More than the requests that the log lacks.
    try tables.admin.script(
      """
      INSERT INTO erasures (person_hash, erased_at, waits_for, done_at)
      SELECT sha256(convert_to(i::text, 'UTF8')), now(), '{}', now() FROM generate_series(1, 100) i
      """)
    #expect(try tables.verify(log: archive).lines.contains { $0.contains("erasures") })
  }

  @Test("erasures after everything else leave nothing, however long ago it was applied")
  func last() throws {
    var random = SeededGenerator()
    let seed = UInt64.random(in: 1...1_000_000, using: &random)
    let history = ErasedHistory(users: 30, events: 500, erasures: 10, seed: seed)
    let log = MemoryLog()
    try log.append(history.events.filter { $0.type != .userErased })
    let tables = try Tables(log)
    try tables.applyAll()
    let places = try DatabaseDump(of: tables.url).places(of: history.forgotten)
    #expect(places.count > 10, "seed \(seed)")
    try log.append(history.events.filter { $0.type == .userErased })
    try tables.applyAll()
    let others = try history.tablesWithoutThem(keyOf: tables)
    try expectForgotten(history, tables, others, "seed \(seed)")
  }

  private func expectForgotten(
    _ history: ErasedHistory, _ tables: Tables, _ others: Tables, _ what: Comment
  ) throws {
    for slices in [1, 5] {
      let report = try tables.verify(slices: slices)
      #expect(report.lines.sorted().prefix(5) == [], "\(what), \(slices) slices")
      #expect(report.tables.allSatisfy { $0.inFlight == 0 }, what)
    }
    #expect(try tables.compare(expected: others).lines.sorted().prefix(5) == [], what)
    for check in [
      "verify_feeds", "verify_notifications", "verify_subscriptions", "verify_alarms",
      "verify_reminders", "verify_reviews",
    ] {
      let rows = try tables.admin.query("SELECT v::text FROM \(check)() v LIMIT 3")
      #expect(try rows.map { try $0.text(0) } == [], "\(what), \(check)")
    }
    let ids = try formerIDs(of: history.erasures.keys.map(\.string), on: tables.admin)
    let model = Model(history.events, formerIDs: ids)
    #expect(
      try ModelComparison(model: model, connection: tables.admin).differences().prefix(5) == [],
      what)
    let screens = ScreenComparison(
      model: model, connection: tables.admin, people: Array(model.people.prefix(8)),
      posts: Array(model.home.map(\.id).prefix(8)), limit: 7)
    #expect(try screens.differences().prefix(5) == [], what)
    #expect(try DatabaseDump(of: tables.url).places(of: history.forgotten) == [], what)
    let undone = try tables.admin.query(
      "SELECT count(*) FROM erasures WHERE waits_for <> '{}' OR done_at IS NULL")
    #expect(try undone.only.int(0) == 0, what)
  }

  @Test("after every commit of the sweeps, counts equal lists, and nobody sees who is erased")
  func read() throws {
    var random = SeededGenerator()
    let seed = UInt64.random(in: 1...1_000_000, using: &random)
    let history = ErasedHistory(users: 12, events: 500, erasures: 3, seed: seed)
    let log = MemoryLog()
    try log.append(history.events.filter { $0.type != .userErased })
    let tables = try Tables(log)
    try tables.applyAll()
    let people = (0..<12).map { SocialWorkload(users: 12, events: 0, seed: 0).userID($0) }
    let reading = PageReading(
      connection: try Connection(tables.url, applicationName: "reader"),
      people: Array(people.filter { history.erasures[.init($0)] == nil }.prefix(5)), all: people,
      posts: Array(Model(history.events).home.map(\.id).prefix(20)),
      // Readers see a new life once the former one is gone.
      forgotten: history.forgotten)
    #expect(try reading.counts() == [], "seed \(seed), before")
    try #require(try !reading.named().isEmpty)

    // The erasures in one transaction, of any worker.
    try log.append(history.events.filter { $0.type == .userErased })
    let workers = try tables.workers().shuffled(using: &random)
    var (commits, isFirst, problems) = (0, true, [String]())
    for worker in workers {
      worker.committed = {
        commits += 1
        // Two partitions: everybody is being erased after the first two commits.
        if isFirst,
          try tables.admin.query("SELECT count(*) FROM erasures").only.int(0)
            < history.erasures.count
        {
          return
        }
        isFirst = false
        guard problems.isEmpty else { return }
        problems = try reading.problems().map { "seed \(seed), commit \(commits): \($0)" }
      }
    }
    try block(until: "nobody is being erased") {
      var isIdle = true
      for worker in workers.shuffled(using: &random) where try worker.step(batch: 50) {
        isIdle = false
      }
      return try isIdle && !tables.isErasing
    }
    #expect(problems.prefix(5) == [])
    #expect(!isFirst && commits > 20, "\(commits)")
    #expect(try DatabaseDump(of: tables.url).places(of: history.forgotten) == [], "seed \(seed)")
  }

  @Test("what sweeps have yet to remove is in flight, and is wrong once they are done")
  func underWay() throws {
    var random = SeededGenerator()
    let seed = UInt64.random(in: 1...1_000_000, using: &random)
    let history = ErasedHistory(users: 30, events: 600, erasures: 7, seed: seed)
    let log = MemoryLog()
    try log.append(history.events.filter { $0.type != .userErased })
    let tables = try Tables(log)
    try tables.applyAll()
    try log.append(history.events.filter { $0.type == .userErased })
    for worker in try tables.workers() {
      while try worker.step(batch: 100, includingBacklog: false) {}
    }
    for slices in [1, 3] {
      let report = try tables.verify(slices: slices)
      #expect(report.lines.sorted().prefix(5) == [], "seed \(seed), \(slices) slices")
      #expect(report.tables.reduce(0) { $0 + $1.inFlight } > 20)
    }
    try tables.admin.script(
      """
      DELETE FROM fanout_erasures; DELETE FROM notification_erasures; DELETE FROM alarm_erasures;
      DELETE FROM reminder_erasures;
      UPDATE erasures SET user_id = NULL, waits_for = '{}', done_at = now()
      """)
    let report = try tables.verify(slices: 1)
    let wrong = Set(report.tables.filter { $0.counts.total > 0 }.map(\.name))
    #expect(
      wrong.isSuperset(of: ["follows", "posts", "likes", "notifications", "alarms", "profiles"]),
      "\(wrong), seed \(seed)")
    try tables.admin.script("UPDATE erasures SET erased_at = erased_at - interval '1 s'")
    #expect(try tables.verify(slices: 1).lines.contains { $0.hasPrefix("erasures different") })
  }
}

/// What page functions return while people are being erased.
private struct PageReading {
  let connection: Connection
  /// The viewers.
  let people: [String]
  /// Whom they look at.
  let all: [String]
  let posts: [String]
  /// What no page may contain.
  let forgotten: [String]

  /// A viewer who has blocked nobody.
  private static let stranger = "a stranger"

  func problems() throws -> [String] { try counts() + named() }

  /// Counts that differ from the lists that they count. Each is compared within one snapshot.
  func counts() throws -> [String] {
    let (people, all) = (Parameter.textArray(people), Parameter.textArray(all))
    let (posts, stranger) = (Parameter.textArray(posts), Parameter.text(Self.stranger))
    let queries: [(String, [Parameter])] = [
      (
        """
        SELECT 'post ' || i.id, r.likes, (SELECT count(*) FROM likers_page($2, i.id, NULL, 100)),
          r.comments, (SELECT count(*) FROM comment_page($2, i.id, NULL, 100))
        FROM unnest($1::text[]) AS i (id), post($2, i.id) r
        """, [posts, stranger]
      ),
      (
        """
        SELECT 'profile ' || i.id, r.followers,
          (SELECT count(*) FROM followers_page($2, i.id, NULL, 100)), r.following,
          (SELECT count(*) FROM following_page($2, i.id, NULL, 100))
        FROM unnest($1::text[]) AS i (id), profile($2, i.id) r
        """, [all, stranger]
      ),
      (
        """
        SELECT 'posts of ' || i.id, r.posts,
          (SELECT count(*) FROM user_posts_page($2, i.id, NULL, 100)), 0, 0
        FROM unnest($1::text[]) AS i (id), profile($2, i.id) r
        """, [all, stranger]
      ),
      (
        """
        SELECT 'alarms of ' || i.id, unread_count(i.id), count(*) FILTER (WHERE r.unread),
          badge(i.id), count(*) FILTER (WHERE r.unseen)
        FROM unnest($1::text[]) AS i (id)
        LEFT JOIN LATERAL alarm_page(i.id, NULL, 100) r ON true
        GROUP BY i.id HAVING count(*) < 100
        """, [people]
      ),
      (
        """
        SELECT 'people of ' || r.notification_id, r.actor_count,
          (SELECT count(*) FROM alarm_people(i.id, r.notification_id, NULL, 100)), 0, 0
        FROM unnest($1::text[]) AS i (id), alarm_page(i.id, NULL, 100) r
        """, [people]
      ),
      (
        """
        SELECT 'conversation of ' || i.id, r.unread,
          (SELECT count(*) FROM conversation_page(i.id, r.peer_id, NULL, 100) m
            WHERE NOT m.is_read AND m.sender_id = r.peer_id), 0, 0
        FROM unnest($1::text[]) AS i (id), conversation_list(i.id, NULL, 100) r
        """, [people]
      ),
    ]
    return try queries.flatMap { sql, parameters in
      try connection.query(
        """
        SELECT q.* FROM (\(sql)) AS q (what, one, list, other, other_list)
        WHERE (q.one, q.other) IS DISTINCT FROM (q.list, q.other_list) LIMIT 3
        """, parameters
      ).map { row in
        "\(try row.text(0)): \(try row.int8(1)) but \(try row.int8(2)), "
          + "\(try row.int8(3)) but \(try row.int8(4))"
      }
    }
  }

  /// Rows that name somebody who is erased.
  func named() throws -> [String] {
    let calls = [
      "feed_page(i.id, NULL, 100)", "home_page(i.id, NULL, 100)", "alarm_page(i.id, NULL, 100)",
      "conversation_list(i.id, NULL, 100)", "mutes(i.id)", "search_users('', i.id, NULL, 100)",
      "unnest($2::text[]) AS o (id), profile(i.id, o.id)",
      "unnest($2::text[]) AS o (id), followers_page(i.id, o.id, NULL, 100)",
      "unnest($2::text[]) AS o (id), following_page(i.id, o.id, NULL, 100)",
      "unnest($2::text[]) AS o (id), user_posts_page(i.id, o.id, NULL, 100)",
      "unnest($2::text[]) AS o (id), conversation_page(i.id, o.id, NULL, 100)",
      "unnest($3::text[]) AS o (id), post(i.id, o.id)",
      "unnest($3::text[]) AS o (id), likers_page(i.id, o.id, NULL, 100)",
      "unnest($3::text[]) AS o (id), comment_page(i.id, o.id, NULL, 100)",
      """
      alarm_page(i.id, NULL, 100) a, alarm_people(i.id, a.notification_id, NULL, 100)
      """,
    ]
    return try calls.compactMap { call in
      let rows = try connection.query(
        """
        SELECT string_agg(r::text, E'\\n') FROM unnest($1::text[]) AS i (id), \(call) r
        WHERE cardinality($2::text[]) + cardinality($3::text[]) > 0
        """, [.textArray(people), .textArray(all), .textArray(posts)])
      let page = Data((try rows.only.textOrNil(0) ?? "").utf8)
      let found = forgotten.lazy.compactMap { findWord($0, in: page) }.first
      return found.map { range in
        let excerpt = page[max(0, range.lowerBound - 200)..<range.upperBound]
        return "named in \(call): \(String(decoding: excerpt, as: UTF8.self))"
      }
    }
  }
}
