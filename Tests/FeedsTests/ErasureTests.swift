import Dispatch
import Events
import Handling
import Model
import Postgres
import TestSupport
import Testing

@testable import Feeds

/// People who are erased, with what they did and what was done to them.
@Suite struct ErasureTests {
  private static let limits = [
    FeedLimits(
      pushLimit: 4, feedLength: 3, evictIdleDays: 1, deliveriesMax: 5, entriesMax: 5,
      trimmedAtOnce: 2,
      blocksAtOnce: 1, returningAtOnce: 2, lockedAtOnce: 3, evictedAtOnce: 2, erasedAtOnce: 2),
    FeedLimits(
      pushLimit: 100, feedLength: 6, evictIdleDays: 1, deliveriesMax: 20, entriesMax: 20,
      trimmedAtOnce: 3,
      blocksAtOnce: 1, returningAtOnce: 3, lockedAtOnce: 100, evictedAtOnce: 3, erasedAtOnce: 5),
    FeedLimits(pushLimit: 3, evictIdleDays: 1, erasedAtOnce: 1),
  ]

  @Test("whoever is erased disappears at once, and then from the tables; what others did stays")
  func disappears() throws {
    let (database, ann) = (try FeedDatabase(), "ann·1")
    try database.apply(
      Say.follow("bo", ann, at: 1), Say.follow(ann, "bo", at: 1), Say.follow("bo", "cy", at: 1),
      Say.post("p1", by: ann, at: 2, title: "secret"), Say.post("p2", by: "cy", at: 3),
      Say.delete("p3", by: ann, at: 3), Say.unfollow("cy", ann, at: 3),
      Say.message("m1", from: ann, to: "bo", at: 4, text: "secret"),
      Say.message("m2", from: "bo", to: ann, at: 5),
      Say.event("read", 6, .read("bo", ann)))
    _ = try database.touch(ann)
    try database.passDays(1)
    try database.apply(Say.erase(ann, at: 7))

    #expect(try database.feed("bo") == ["p2"])
    #expect(try database.stats("bo") == "0|0|1")
    #expect(try database.stats(ann) == "0|0|0")
    #expect(try database.pages("followers_page", ["cy", "bo"]) == [])
    #expect(try database.pages("conversation_list", ["bo"]) == [])
    #expect(try database.feed(ann) == [])
    #expect(try database.pages("home_page", [ann]) == [])
    #expect(try database.connection.query("SELECT FROM profile('bo', $1)", [.text(ann)]).isEmpty)
    #expect(try !database.touch(ann))
    #expect(try database.violations() == [])

    try database.sweepErased()
    let former = try database.formerID(ann)
    #expect(try database.rowsThatContain(ann) == [])
    #expect(try database.rowsThatContain("secret") == [])
    #expect(try database.feed("bo") == ["p2"])
    #expect(try database.ids(database.pages("conversation_list", ["bo"])) == [former])
    #expect(try database.ids(database.pages("conversation_page", ["bo", former])) == ["m2"])
    #expect(try database.violations() == [])
  }

  @Test("what happens after the erasure counts, whether it is applied before or after it")
  func newLife() throws {
    let old = [
      Say.follow("bo", "ann", at: 1), Say.post("p1", by: "ann", at: 2),
      Say.post("kept", by: "ann", at: 3, title: "old"), Say.post("gone", by: "ann", at: 3),
      Say.message("m1", from: "bo", to: "ann", at: 4),
    ]
    let new = [
      Say.follow("cy", "ann", at: 11), Say.follow("ann", "cy", at: 11),
      Say.post("kept", by: "ann", at: 12, title: "new"), Say.delete("gone", by: "ann", at: 12),
      Say.message("m2", from: "bo", to: "ann", at: 13), Say.event("read", 14, .read("ann", "bo")),
    ]
    let erasure = Say.erase("ann", at: 10)
    for events in [old + new + [erasure], [erasure] + new + old, old + [erasure] + new] {
      let database = try FeedDatabase()
      for event in events { try database.apply(event) }
      try database.sweepErased()
      let left = try database.left(of: old + new + [erasure])
      #expect(left.count == new.count + 1, "and the message that bo sent before")
      let differences = try database.differences(from: Model(left))
      #expect(differences.isEmpty, "\(differences.first ?? "")")
      #expect(try database.contents() == FeedDatabase.contents(after: left))
      #expect(try database.violations() == [])
    }
  }

  @Test("somebody whose conversation a peer has read since keeps their key")
  func readSince() throws {
    let events = [
      Say.message("m", from: "ann", to: "bo", at: 1), Say.erase("ann", at: 10),
      Say.event("read", 20, .read("bo", "ann")),
    ]
    for order in [[0, 2, 1], [1, 2, 0]] {
      let database = try FeedDatabase()
      for index in order { try database.apply(events[index]) }
      try database.sweepErased()
      #expect(try database.count("(\(FeedDatabase.keysOfNobody)) t") == 0)
      let left = try database.left(of: events)
      #expect(left.map(\.id) == ["read"])
      #expect(try database.contents() == FeedDatabase.contents(after: left))
    }
  }

  @Test("what a transaction of a new life has found is not deleted before it ends")
  func besideNewLife() throws {
    let database = try FeedDatabase()
    try database.apply(Say.post("p1", by: "ann", at: 1), Say.erase("ann", at: 10))
    try database.sweepErased(untilStagesLeft: 1)
    let writer = try FeedDatabase(url: database.url, handler: database.handler)
    try writer.connection.transaction {
      for statement in internUsers(["ann"]) {
        _ = try writer.connection.query(statement.sql, statement.parameters)
      }
      for _ in 0..<20 { try database.runPieceRetrying() }
      #expect(try database.count("users") == 1)
    }
    try database.sweepErased()
    #expect(try database.count("users") == 0)
  }

  @Test("a message that stays has its conversation, though another sweep deletes it meanwhile")
  func besideOtherSweep() throws {
    let database = try FeedDatabase()
    let former = try database.formerID("ann")
    let read = Say.event("read", 5, .read("bo", former))
    try database.apply(read)
    try database.apply(Say.message("m", from: "bo", to: "ann", at: 8), Say.erase("ann", at: 10))
    // Messages, the feed, the person.
    try database.sweepErased(untilStagesLeft: 3)
    let other = try FeedDatabase(url: database.url, handler: database.handler)
    let (threads, sweep) = (FeedThreads(database), DispatchGroup())
    try other.connection.transaction {
      _ = try other.connection.query(
        ErasingSQL.conversations,
        [.text("bo"), .timestamptz(read.time.microseconds), .textArray([former])])
      threads.start(sweep) { try $0.sweepErased() }
      try database.asOwner { try database.connection.blockUntilSessionsWait() }
    }
    sweep.wait()
    #expect(threads.failures.withLock { $0 } == [])
    #expect(try database.ids(database.pages("conversation_list", ["bo"])) == [former])
    #expect(try database.violations() == [])
  }

  @Test("any order and any batches, between sweeps, give what the other events alone give")
  func orders() throws {
    var random = SeededGenerator()
    for limits in Self.limits {
      let events = Self.history(300, using: &random)
      for _ in 0..<2 {
        let database = try FeedDatabase(limits)
        let log = events + events.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
        for batch in batches(of: log.shuffled(using: &random), upTo: 30, using: &random) {
          try database.apply(batch)
          for _ in 0..<Int.random(in: 0...3, using: &random) {
            try database.handler.runBacklogDirectly(on: database.connection)
            let wrong = try database.halfForgotten()
            #expect(wrong.isEmpty, "\(wrong.first ?? "")")
          }
        }
        try check(database, events)
      }
    }
  }

  @Test("under concurrent writes and sweeps, no reader sees who is being erased or a wrong count")
  func concurrency() throws {
    var random = SeededGenerator()
    for limits in Self.limits {
      let database = try FeedDatabase(limits)
      let events = Self.history(500, using: &random)
      let erasures = events.filter { $0.topic == .erasures }
      let shares = (0..<3).map { _ in
        let share = events.filter { _ in Bool.random(using: &random) } + erasures
        return batches(of: share.shuffled(using: &random), upTo: 8, using: &random)
      }
      let threads = FeedThreads(database)
      let (writers, others) = (DispatchGroup(), DispatchGroup())
      for share in shares {
        threads.start(writers) { writer in
          for batch in share where !threads.isOver {
            _ = try writer.applyRetrying(batch)
          }
        }
      }
      for _ in 0..<2 {
        threads.start(others) { lane in
          while !threads.isOver { try lane.runPieceRetrying() }
        }
      }
      threads.start(others) { backend in
        while !threads.isOver {
          do {
            try backend.passDays(1)
            _ = try backend.touch(Self.people.randomElement() ?? "")
          } catch let error as PostgresError where ["40001", "40P01"].contains(error.sqlstate) {
            continue
          }
        }
      }
      threads.start(others) { reader in
        while !threads.isOver {
          let wrong = try reader.halfForgotten()
          guard wrong.isEmpty else { throw Unexpected(description: "\(wrong)") }
        }
      }
      writers.wait()
      try block(until: "the sweeps ended") {
        try threads.isOver || database.count("fanout_erasures") == 0
      }
      threads.end()
      others.wait()
      #expect(threads.failures.withLock { $0 } == [])
      try check(database, Array(shares.joined().joined()))
    }
  }

  @Test("a sweep writes a bounded number of rows at once, however many there are")
  func bounded() throws {
    let (readers, posts, bound) = (40, 30, 3)
    let database = try FeedDatabase(FeedLimits(erasedAtOnce: bound))
    try database.apply(
      (0..<readers).map { Say.follow("reader \($0)", "star", at: 0) }
        + (0..<readers).map { Say.follow("star", "reader \($0)", at: 0) })
    try database.apply((0..<posts).map { Say.post("p\($0)", by: "star", at: Int64($0)) })
    try database.apply(
      (0..<readers).map { Say.message("m\($0)", from: "reader \($0)", to: "star", at: 1) })
    try database.apply(Say.erase("star", at: 1000))
    var before = try database.sizes()
    while try database.count("fanout_erasures") > 0 {
      _ = try database.handler.runBacklogDirectly(on: database.connection)
      let after = try database.sizes()
      // A message's conversation has two rows.
      for (table, count) in after {
        #expect(abs(count - (before[table] ?? 0)) <= 2 * bound, "\(table)")
      }
      before = after
    }
    #expect(try database.count("posts") == 0)
    #expect(try database.count("follows") == 0)
    #expect(try database.count("messages") == readers)
    #expect(try database.count("retired_keys") > 0, "and not each entry was deleted by itself")
    #expect(try database.violations() == [])
  }

  // MARK: Histories

  private static let people = [
    "anna·1", "bo·2", "cé·3", "ce\u{301}·3", "dee·4", "eve·5", "fay·6",
  ]

  /// Events of few people, among them erasures, of which some come twice, at two times. A post has one author, and a
  /// message one sender, as the ids of clients have. A post that was published before and after the erasure has
  /// one event after it: see the limits in decision 0040.
  private static func history(_ count: Int, using random: inout SeededGenerator) -> [Event] {
    var erasures: [BytewiseString: Int64] = [:]
    var events: [Event] = []
    for person in people {
      for number in 0..<[0, 0, 1, 2][Int.random(in: 0..<4, using: &random)] {
        let at = Int64.random(in: 0..<1100, using: &random)
        erasures[.init(person)] = max(erasures[.init(person)] ?? 0, at)
        events.append(Say.erase(person, at: at, id: "erasure \(number) of \(person)"))
      }
    }
    let gone = erasures.filter { _ in Bool.random(using: &random) }
    var (published, later): (Set<String>, [(post: String, event: Event)]) = ([], [])
    for number in 0..<count {
      let at = Int64.random(in: 0..<1000, using: &random)
      // Two of the people are equal to Swift, but for their bytes.
      let index = Int.random(in: people.indices, using: &random)
      let one = people[index]
      let other = people.randomElement(using: &random) ?? ""
      let thing = "\(Int.random(in: 0..<12, using: &random)) of \(index)"
      let id = "event \(number)"
      let event =
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<6: Say.post("p\(thing)", by: one, at: at, title: "title \(number)", id: id)
        case 6..<8: Say.delete("p\(thing)", by: one, at: at, id: id)
        case 8..<12: Say.follow(one, other, at: at, id: id)
        case 12..<14: Say.unfollow(one, other, at: at, id: id)
        case 14..<16: Say.event(id, at, .read(one, other))
        default:
          Say.message("m\(thing)", from: one, to: other, at: at, text: "text \(number)", id: id)
        }
      func isLater(than erasures: [BytewiseString: Int64]) -> Bool {
        event.people.contains { at > erasures[.init($0)] ?? .max }
      }
      if isLater(than: gone) { continue }
      if event.topic == .posts, isLater(than: erasures) {
        later.append((thing, event))
      } else {
        events.append(event)
        if event.topic == .posts { published.insert(thing) }
      }
    }
    var republished: Set<String> = []
    return events
      + later.filter { !published.contains($0.post) || republished.insert($0.post).inserted }
      .map(\.event)
  }

  private func check(_ database: FeedDatabase, _ events: [Event]) throws {
    try database.sweepErased()
    let left = try database.left(of: events)
    let differences = try database.differences(from: Model(left))
    #expect(differences.isEmpty, "\(differences.first ?? "")")
    #expect(try database.contents() == FeedDatabase.contents(after: left))
    let named = Set(left.flatMap(\.people).map { BytewiseString($0) })
    for person in Self.people where !named.contains(.init(person)) {
      if try database.isErased(person) { #expect(try database.rowsThatContain(person) == []) }
    }
    for _ in 0..<2 {
      #expect(try database.violations() == [])
      #expect(try database.count("(\(FeedDatabase.keysOfNobody)) t") == 0)
      try database.sweep()
    }
  }
}

extension Say {
  fileprivate static func erase(_ person: String, at: Int64, id: String? = nil) -> Event {
    event(id ?? "erased \(person) \(at)", at, .userErased(.with { $0.user = person }))
  }
}

extension FeedDatabase {
  fileprivate func runPieceRetrying() throws {
    do {
      _ = try handler.runBacklogDirectly(on: connection)
    } catch let error as PostgresError where ["40001", "40P01"].contains(error.sqlstate) {
      return
    }
  }

  /// Runs the backlog until so many stages of one person's sweep are left, and the next may begin.
  fileprivate func sweepErased(untilStagesLeft left: Int) throws {
    let next = feedErasure(limits: FeedLimits()).stages.count - left
    try block(until: "stage \(next) is next") {
      try runPieceRetrying()
      return try count("fanout_erasures WHERE stage = \(next) AND horizon IS NOT NULL") == 1
    }
  }

  /// Runs the backlog until nobody is left to be forgotten; then says so for the other workers.
  fileprivate func sweepErased() throws {
    try block(until: "the sweeps ended") {
      try runPieceRetrying()
      return try count("fanout_erasures") == 0
    }
    _ = try connection.query(
      """
      SELECT erasure_done(w, e.user_id, e.erased_at)
      FROM erasures e, unnest(e.waits_for) AS w WHERE e.user_id IS NOT NULL
      """)
  }

  fileprivate func formerID(_ person: String) throws -> String {
    FormerPerson.id(
      hash: try connection.query("SELECT encode(person_hash($1), 'hex')", [.text(person)]).only
        .text(0))
  }

  fileprivate func isErased(_ person: String) throws -> Bool {
    try connection.query(
      "SELECT EXISTS (SELECT FROM erasures WHERE person_hash = person_hash($1))", [.text(person)]
    ).only.bool(0)
  }

  /// What the erasures among the events leave of the others.
  fileprivate func left(of events: [Event]) throws -> [Event] {
    var erasures: [BytewiseString: EventTime] = [:]
    var formers: [BytewiseString: String] = [:]
    for event in events {
      guard case .userErased(let data) = event.payload else { continue }
      let person = BytewiseString(data.user)
      erasures[person] = max(erasures[person] ?? event.time, event.time)
      formers[person] = try formerID(data.user)
    }
    return events.filter { $0.topic != .erasures }.compactMap { event in
      event.forgetting(formerReceiver: { formers[.init($0)] }) {
        event.time <= erasures[.init($0)] ?? EventTime(microseconds: .min)
      }
    }
  }

  /// The tables that do not depend on the order of events, with ids for keys.
  fileprivate func contents() throws -> [BytewiseString] {
    try connection.query(
      """
      SELECT concat_ws('|', 'follow', r.user_id, e.user_id, f.active, f.version_time, f.version_id) AS line
      FROM follows f
      LEFT JOIN users e ON e.user_key = f.followee LEFT JOIN users r ON r.user_key = f.follower
      UNION ALL
      SELECT concat_ws('|', 'counts', u.user_id, c.followers, c.following)
      FROM follow_counts c LEFT JOIN users u USING (user_key)
      WHERE (c.followers, c.following) <> (0, 0)
      UNION ALL
      SELECT concat_ws('|', 'posts', u.user_id, c.posts)
      FROM author_posts c LEFT JOIN users u ON u.user_key = c.author WHERE c.posts <> 0
      UNION ALL
      SELECT concat_ws('|', 'post', u.user_id, p.post_id, p.deleted, p.title, p.caption, p.image_url,
        p.first_at, p.version_time, p.version_id)
      FROM posts p LEFT JOIN users u ON u.user_key = p.author
      UNION ALL
      SELECT concat_ws('|', 'message', s.user_id, r.user_id, m.message_id, m.text, m.version_time,
        m.version_id)
      FROM messages m
      LEFT JOIN users s ON s.user_key = m.sender LEFT JOIN users r ON r.user_key = m.receiver
      UNION ALL
      SELECT concat_ws('|', 'conversation', o.user_id, p.user_id, c.last_time, c.last_message_id,
        c.read_at)
      FROM conversations c
      LEFT JOIN users o ON o.user_key = c.owner LEFT JOIN users p ON p.user_key = c.peer
      WHERE c.last_message_id IS NOT NULL OR c.read_at > '-infinity'
      """
    ).map { BytewiseString(try $0.text(0)) }.sorted()
  }

  fileprivate static func contents(after events: [Event]) throws -> [BytewiseString] {
    let database = try FeedDatabase()
    try database.apply(events)
    return try database.contents()
  }

  /// Rows whose person is not in `users`.
  fileprivate static let keysOfNobody = """
    SELECT FROM (
      SELECT owner FROM feeds UNION ALL SELECT owner FROM feed_entries
      UNION ALL SELECT user_key FROM follow_counts UNION ALL SELECT author FROM pull_authors
      UNION ALL SELECT author FROM author_posts
      UNION ALL SELECT owner FROM conversations UNION ALL SELECT peer FROM conversations
      UNION ALL SELECT sender FROM messages UNION ALL SELECT receiver FROM messages
      UNION ALL SELECT follower FROM follows UNION ALL SELECT followee FROM follows
    ) k (user_key)
    WHERE NOT EXISTS (SELECT FROM users u WHERE u.user_key = k.user_key)
    """

  /// The rows of all tables in which the text occurs.
  fileprivate func rowsThatContain(_ text: String) throws -> [String] {
    try asOwner {
      let tables = try connection.query(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
      ).map { try $0.text(0) }
      return try tables.flatMap { table in
        try connection.query(
          "SELECT t::text FROM \(table) t WHERE strpos(t::text, $1) > 0", [.text(text)]
        ).map { "\(table): \(try $0.text(0))" }
      }
    }
  }

  fileprivate func sizes() throws -> [String: Int] {
    var sizes: [String: Int] = [:]
    for table in ["posts", "follows", "messages", "conversations", "users"] {
      sizes[table] = try count(table)
    }
    return sizes
  }

  /// In one snapshot: where pages show people who are being erased, counts that differ from lists, and the findings
  /// of `verify_feeds`.
  fileprivate func halfForgotten() throws -> [String] {
    _ = try connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ")
    defer { _ = try? connection.query("COMMIT") }
    let wrong = try connection.query(
      """
      WITH shown AS (
        SELECT 'home' AS page, author_id AS person FROM home_page(NULL, 200)
        UNION ALL SELECT 'feed', p.author_id FROM users u, feed_page(u.user_id, NULL, 200) p
        UNION ALL SELECT 'post', d.author_id FROM posts p, post(NULL, p.post_id) d
        UNION ALL SELECT 'posts', p.author_id FROM users u, user_posts_page(NULL, u.user_id, NULL, 200) p
        UNION ALL SELECT 'profile', p.user_id FROM users u, profile(NULL, u.user_id) p
        UNION ALL SELECT 'followers', p.user_id FROM users u, followers_page(NULL, u.user_id, NULL, 200) p
        UNION ALL SELECT 'following', p.user_id FROM users u, following_page(NULL, u.user_id, NULL, 200) p
        UNION ALL SELECT 'conversations', p.peer_id FROM users u, conversation_list(u.user_id, NULL, 200) p
        UNION ALL SELECT 'conversation', p.sender_id
        FROM conversations c
        JOIN users o ON o.user_key = c.owner JOIN users u ON u.user_key = c.peer,
          conversation_page(o.user_id, u.user_id, NULL, 200) p
        UNION ALL SELECT 'to ' || e.user_id, e.user_id FROM erasures e, home_page(e.user_id, NULL, 200)
        UNION ALL SELECT 'to ' || e.user_id, e.user_id FROM erasures e, feed_page(e.user_id, NULL, 200)
        UNION ALL SELECT 'to ' || e.user_id, e.user_id FROM erasures e, conversation_list(e.user_id, NULL, 200)
      )
      SELECT 'the page ' || page || ' shows ' || person FROM shown WHERE is_erasing(person)
      UNION ALL
      SELECT 'counts of ' || t::text
      FROM (
        SELECT u.user_id, s.*,
          (SELECT count(*) FROM user_posts_page(NULL, u.user_id, NULL, 200)) AS posts_listed,
          (SELECT count(*) FROM followers_page(NULL, u.user_id, NULL, 200)) AS followers_listed,
          (SELECT count(*) FROM following_page(NULL, u.user_id, NULL, 200)) AS following_listed
        FROM users u CROSS JOIN LATERAL profile_stats(u.user_id) s
      ) t
      WHERE (t.posts, t.followers, t.following)
        <> (t.posts_listed, t.followers_listed, t.following_listed)
      """
    ).map { try $0.text(0) }
    return try wrong + violations()
  }
}
