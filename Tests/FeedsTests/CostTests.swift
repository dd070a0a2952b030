import Postgres
import TestSupport
import Testing

/// How costs grow, counted in pages of the database rather than in time.
@Suite struct CostTests {
  @Test("a page costs the same with twelve times as much data behind it")
  func page() throws {
    let database = try FeedDatabase()
    let calls = [
      "feed_page('u1101', NULL, 50)", "feed_page('u1101', '757382404000000:p4000', 50)",
      "home_page(NULL, 50)", "home_page('757382404000000:p4000', 50)",
      "conversation_list('u1101', NULL, 50)", "conversation_page('u1101', 'u7', NULL, 50)",
      // All of its messages are unread.
      "conversation_list('u7', NULL, 50)",
    ]
    try database.asOwner {
      try database.connection.script(
        """
        INSERT INTO users (user_id) SELECT 'u' || g FROM generate_series(1, 1200) g ORDER BY g;
        INSERT INTO follows
        SELECT a, 1101, true, '2024-01-01Z', 'f' FROM generate_series(1, 1000) a;
        """)
      try fill(database, 1...5000)
    }
    let before = try calls.map { try pages(database, $0) }
    try database.asOwner { try fill(database, 5001...60_000) }
    for (call, few) in zip(calls, before) {
      let many = try pages(database, call)
      #expect(many <= few + few / 4 + 20, "\(call): \(few) pages, then \(many)")
    }

    // Every author has a thousand readers and three are pulled; the statistics are up to date.
    try database.asOwner {
      try database.connection.script(
        """
        UPDATE posts SET delivery = 'pull' WHERE author <= 3;
        INSERT INTO pull_authors VALUES (1), (2), (3);
        """)
      try database.connection.script("VACUUM ANALYZE")
    }
    for call in calls {
      // Some twenty for each of 50 rows, and those of the catalogs.
      let pages = try pages(database, call)
      #expect(pages < 1200, "\(call) with statistics: \(pages)")
    }
  }

  @Test(
    "what a famous author published before the feed's floor is not read by pages"
  )
  func pulledBelowTheFloor() throws {
    let database = try FeedDatabase()
    // The second begins between the floor for all feeds and the newest post.
    let calls = ["feed_page('u9', NULL, 50)", "feed_page('u9', '757440000000000:p0', 50)"]
    func costs() throws -> [Int] {
      try database.connection.script("ANALYZE posts")
      return try calls.map { try pages(database, $0) }
    }
    try database.asOwner {
      try database.connection.script(
        """
        INSERT INTO users (user_id) SELECT 'u' || g FROM generate_series(1, 10) g ORDER BY g;
        INSERT INTO pull_authors VALUES (7);
        INSERT INTO follows VALUES (7, 9, true, '2024-01-01Z', 'f');
        UPDATE feed_history SET floor = 757468800000000 << 11;
        """)
      try fillPeople(database, 1...1000)
    }
    let before = try costs()
    try database.asOwner { try fillPeople(database, 1001...20_000) }
    for (few, many) in zip(before, try costs()) {
      #expect(many <= few + few / 4 + 20, "\(few) pages, then \(many)")
    }
  }

  @Test("a page of few entries reads about one post of each famous author, however many they have")
  func pulledAboveTheFloor() throws {
    let database = try FeedDatabase()
    let calls = ["feed_page('u401', NULL, 50)", "feed_page('u401', '757390000000000:p0', 50)"]
    func costs(_ posts: ClosedRange<Int>) throws -> [Int] {
      try database.asOwner {
        try database.connection.script(
          """
          INSERT INTO posts
          SELECT 'p' || g, (757382400000000 + g * 1000000::bigint) << 11, g % 400 + 1, 'pull', false,
            '', '', '', timestamptz '2024-01-01 00:00:00Z' + g * interval '1 s', 'e' || g
          FROM generate_series(\(posts.lowerBound), \(posts.upperBound)) g;
          """)
        try database.connection.script("VACUUM ANALYZE posts")
      }
      return try calls.map { try pages(database, $0) }
    }
    try database.asOwner {
      try database.connection.script(
        """
        INSERT INTO users (user_id) SELECT 'u' || g FROM generate_series(1, 401) g ORDER BY g;
        INSERT INTO pull_authors SELECT g FROM generate_series(1, 400) g;
        INSERT INTO follows SELECT g, 401, true, '2024-01-01Z', 'f' FROM generate_series(1, 400) g;
        """)
    }
    let before = try costs(1...2000)
    for (few, many) in zip(before, try costs(2001...24_000)) {
      // One more level of the index.
      #expect(many <= few + few / 2 + 20, "\(few) pages, then \(many)")
    }
  }

  @Test("a page asks of few of those followed whether they are hidden")
  func hidden() throws {
    let database = try FeedDatabase()
    // The first reads posts of famous authors, the second posts below a floor.
    let calls = ["feed_page('u1001', NULL, 20)", "feed_page('u1002', NULL, 20)"]
    try database.asOwner {
      try database.connection.script(
        """
        INSERT INTO users (user_id) SELECT 'u' || g FROM generate_series(1, 1002) g ORDER BY g;
        INSERT INTO pull_authors SELECT g FROM generate_series(1, 500) g;
        INSERT INTO follows
        SELECT g, CASE WHEN g <= 500 THEN 1001 ELSE 1002 END, true, '2024-01-01Z', 'f'
        FROM generate_series(1, 1000) g;
        INSERT INTO feeds VALUES (1002, 9223372036854775807);
        INSERT INTO posts
        SELECT 'p' || g, (757382400000000 + g * 1000000::bigint) << 11, g,
          CASE WHEN g <= 500 THEN 'pull' ELSE 'push' END, false, '', '', '',
          timestamptz '2024-01-01 00:00:00Z' + g * interval '1 s', 'e'
        FROM generate_series(1, 1000) g;
        """)
      try database.connection.script("VACUUM ANALYZE")
    }
    let before = try calls.map { try pages(database, $0) }
    try database.asOwner {
      try database.connection.script(
        """
        INSERT INTO person_blocks VALUES
          ('u1001', 'u500', true, '2024-01-01Z', 'b'), ('u1000', 'u1002', true, '2024-01-01Z', 'b')
        """)
    }
    for (call, few) in zip(calls, before) {
      let many = try pages(database, call)
      #expect(many <= few + 1000, "\(call): \(few) pages, then \(many)")
    }
  }

  @Test("a follow of somebody famous reads none of the posts that readers pull")
  func pushedPosts() throws {
    let database = try FeedDatabase()
    let pushed = """
      (SELECT p.post_key FROM posts p
      WHERE p.author = 7 AND NOT p.deleted AND p.delivery = 'push' AND p.first_at >= '2024-01-01Z'
      ORDER BY p.first_at DESC, p.post_id DESC LIMIT 1001) p
      """
    try database.asOwner { try fillPeople(database, 1...20_000) }
    #expect(try pages(database, pushed) < 20)
  }

  @Test("a list of people costs the same with twelve times as many, also for who blocked some")
  func people() throws {
    let database = try FeedDatabase()
    let calls = [
      "user_posts_page('u1', 'u7', NULL, 50)", "post('u1', 'p7')",
      "followers_page('u1', 'u7', NULL, 50)", "following_page('u1', 'u8', NULL, 50)",
      "likers_page('u1', 'p7', NULL, 50)", "comment_page('u1', 'p7', NULL, 50)",
      "search_users('', 'u1', NULL, 50)", "profile('u1', 'u7')",
    ]
    try database.asOwner {
      try database.connection.script(
        """
        INSERT INTO users (user_id) SELECT 'u' || g FROM generate_series(1, 10) g ORDER BY g;
        INSERT INTO person_blocks
        SELECT 'u1', 'x' || a, true, '2024-01-01Z', 'b' FROM generate_series(1, 20) a;
        """)
      try fillPeople(database, 1...5000)
    }
    let before = try calls.map { try pages(database, $0) }
    // Statistics of people of whom nobody is famous.
    try database.asOwner {
      try database.connection.script("ANALYZE")
      try fillPeople(database, 5001...60_000)
    }
    for isAnalyzed in [false, true] {
      if isAnalyzed { try database.asOwner { try database.connection.script("VACUUM ANALYZE") } }
      for (call, few) in zip(calls, before) {
        let many = try pages(database, call)
        // One more level of three indexes for each row.
        #expect(many <= few + few / 3 + 20, "\(call): \(few) pages, then \(many), \(isAnalyzed)")
      }
    }
  }

  @Test("a page of somebody who is being erased is empty and reads no list")
  func pagesOfTheErased() throws {
    let database = try FeedDatabase()
    try database.asOwner {
      try fillPeople(database, 1...5000)
      try database.connection.script(
        """
        INSERT INTO erasures (person_hash, erased_at, waits_for, user_id)
        VALUES (person_hash('u1'), now(), '{alarm}', 'u1');
        """)
    }
    for call in [
      "likers_page('u1', 'p7', NULL, 50)", "comment_page('u1', 'p7', NULL, 50)",
      "search_users('', 'u1', NULL, 50)", "search_users('nam', 'u1', NULL, 50)",
    ] {
      #expect(try database.connection.query("SELECT FROM \(call)").isEmpty, "\(call)")
      #expect(try pages(database, call) < 50, "\(call)")
    }
  }

  @Test(
    "a post costs the same however many like it, and a profile however many follow it, also while somebody is erased"
  )
  func popular() throws {
    let database = try FeedDatabase()
    try database.asOwner {
      try database.connection.script(
        "INSERT INTO users (user_id) SELECT 'u' || g FROM generate_series(1, 10) g ORDER BY g")
      try fillPeople(database, 1...20_000)
      // Others have few, and that is what the planner assumes.
      try database.connection.script(
        """
        INSERT INTO likes
        SELECT 'p' || g, 'u1', 'u7', true, '2024-01-01Z', '2024-01-01Z', 'e'
        FROM generate_series(8, 20000) g;
        """)
      try database.connection.script("VACUUM ANALYZE")
    }
    for erased in ["", "x5000"] {
      if !erased.isEmpty {
        try database.asOwner {
          try database.connection.script(
            """
            INSERT INTO erasures (person_hash, erased_at, waits_for, user_id)
            VALUES (person_hash('\(erased)'), now(), '{notification}', '\(erased)');
            """)
        }
      }
      for call in ["post('u2', 'p7')", "profile('u2', 'u7')"] {
        let pages = try pages(database, call)
        #expect(pages < 100, "\(call): \(pages)")
      }
    }
  }

  @Test("a page reads none of the blocks that its viewer has ended")
  func endedBlocks() throws {
    let database = try FeedDatabase()
    try database.asOwner {
      try database.connection.script(
        """
        INSERT INTO person_blocks
        SELECT b.blocker, 'x' || g, b.active, '2024-01-01Z', 'b'
        FROM generate_series(1, 5000) g
        CROSS JOIN LATERAL (VALUES ('u1', false), ('y' || g, true)) b (blocker, active);
        ANALYZE person_blocks;
        """)
    }
    for call in [
      "home_page('u1', NULL, 50)", "feed_page('u1', NULL, 50)", "search_users('', 'u1', NULL, 50)",
    ] {
      #expect(try pages(database, call) < 50, "\(call)")
    }
  }

  @Test("a post reads the floors of about as many feeds as its author has followers, of 100,000")
  func floors() throws {
    let database = try FeedDatabase()
    try database.apply((0..<20).map { Say.follow("f\($0)", "star", at: 0) })
    for (number, away) in [0, 50_000].enumerated() {
      try database.asOwner {
        try database.connection.script(
          """
          DELETE FROM feeds WHERE owner > 1000;
          INSERT INTO feeds
          SELECT 1000 + g, CASE WHEN g <= \(away) THEN 9223372036854775807 ELSE -g END
          FROM generate_series(1, 100000) g;
          ANALYZE feeds;
          """)
      }
      let before = try feedsRead(database)
      try database.apply(Say.post("p\(number)", by: "star", at: Int64(number) + 2_000))
      let after = try feedsRead(database)
      #expect(after - before <= 100, "\(away) people are away")
      #expect(
        try database.connection.query("SELECT FROM feed_entries").count == 20 * (number + 1))
    }
  }

  /// The number of rows of `feeds`, and of entries of its indexes, that have been read so far.
  private func feedsRead(_ database: FeedDatabase) throws -> Int {
    try database.connection.query("SELECT pg_stat_force_next_flush()")
    return try database.connection.query(
      """
      SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) + coalesce(
        (SELECT sum(i.idx_tup_read) FROM pg_stat_user_indexes i WHERE i.relname = 'feeds'), 0)::bigint
      FROM pg_stat_user_tables WHERE relname = 'feeds'
      """
    ).only.int(0)
  }

  /// Adds posts by `u7`, and as many people who have a profile, follow `u7`, are followed by `u8`,
  /// and like `p7` and comment on it, all at one time.
  private func fillPeople(_ database: FeedDatabase, _ numbers: ClosedRange<Int>) throws {
    let (first, last) = (numbers.lowerBound, numbers.upperBound)
    try database.connection.script(
      """
      INSERT INTO posts
      SELECT 'p' || g, (757382400000000 + g * 1000::bigint) << 11, 7, 'pull', false,
        '', '', '', timestamptz '2024-01-01 00:00:00Z' + g * interval '1 ms', 'e' || g
      FROM generate_series(\(first), \(last)) g;
      INSERT INTO users (user_id) SELECT 'x' || g FROM generate_series(\(first), \(last)) g;
      INSERT INTO profiles (user_id, name, version_time)
      SELECT 'x' || g, 'name', '2024-01-01Z' FROM generate_series(\(first), \(last)) g;
      -- People whose profile has not arrived.
      INSERT INTO profiles (user_id) SELECT 'ghost' || g FROM generate_series(\(first), \(last)) g;
      INSERT INTO follows
      SELECT p.followee, p.follower, true, '2024-01-01Z', u.user_id
      FROM users u CROSS JOIN LATERAL (VALUES (7, u.user_key), (u.user_key, 8)) p (followee, follower)
      WHERE u.user_id LIKE 'x%' ON CONFLICT DO NOTHING;
      INSERT INTO likes
      SELECT 'p7', 'x' || g, 'u7', true, '2024-01-01Z', '2024-01-01Z', 'e'
      FROM generate_series(\(first), \(last)) g;
      INSERT INTO comments
      SELECT 'c' || g, 'p7', 'u7', 'x' || g, '', '{}', true, '2024-01-01Z', '2024-01-01Z', 'e'
      FROM generate_series(\(first), \(last)) g;
      """)
  }

  /// Adds posts by a thousand authors, all in one feed, and as many messages.
  private func fill(_ database: FeedDatabase, _ numbers: ClosedRange<Int>) throws {
    let (first, last) = (numbers.lowerBound, numbers.upperBound)
    try database.connection.script(
      """
      INSERT INTO posts
      SELECT 'p' || g, (757382400000000 + g * 1000::bigint) << 11, g % 1000 + 1, 'push', false,
        '', '', '', timestamptz '2024-01-01 00:00:00Z' + g * interval '1 ms', 'e' || g
      FROM generate_series(\(first), \(last)) g;
      INSERT INTO feed_entries
      SELECT 1101, (757382400000000 + g * 1000::bigint) << 11
      FROM generate_series(\(first), \(last)) g;
      INSERT INTO messages
      SELECT 'm' || g, 1101, g % 10 + 1, '',
        timestamptz '2024-01-01 00:00:00Z' + g * interval '1 ms', 'e'
      FROM generate_series(\(first), \(last)) g;
      DELETE FROM conversations;
      INSERT INTO conversations
      SELECT 1101, receiver, max(version_time),
        (array_agg(message_id ORDER BY version_time DESC))[1]
      FROM messages GROUP BY receiver;
      INSERT INTO conversations SELECT peer, owner, last_time, last_message_id FROM conversations;
      """)
  }

  private func pages(_ database: FeedDatabase, _ call: String) throws -> Int {
    try database.connection.blocksTouched(by: "SELECT * FROM \(call)")
  }
}
