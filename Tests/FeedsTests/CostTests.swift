import Foundation
import Postgres
import Testing

/// What grows with what: counted in pages of the database, not in time.
@Suite struct CostTests {
  @Test("a page costs the same in a feed of 300 entries and in one of 60,000")
  func page() throws {
    let database = try FeedDatabase()
    try database.asOwner {
      try database.connection.script(
        """
        INSERT INTO users (user_id) SELECT 'u' || g FROM generate_series(1, 1200) g ORDER BY g;
        INSERT INTO follows
        SELECT a, r, true, '2024-01-01Z', 'f' FROM generate_series(1, 1000) a, unnest('{1101,1102}'::int[]) r
        WHERE r = 1101 OR a <= 5;
        INSERT INTO posts
        SELECT 'p' || g, (757382400000000 + g * 1000::bigint) << 11, g % 1000 + 1,
          CASE WHEN g % 1000 < 3 THEN 'pull' ELSE 'push' END, false, '', '', '',
          timestamptz '2024-01-01 00:00:00Z' + g * interval '1 ms', 'e' || g
        FROM generate_series(1, 60000) g;
        INSERT INTO pull_authors VALUES (1), (2), (3);
        INSERT INTO feed_entries
        SELECT f.follower, p.post_key FROM posts p JOIN follows f ON f.followee = p.author
        WHERE p.delivery = 'push' ORDER BY 1, 2;
        INSERT INTO messages
        SELECT 'm' || g, 1101, g % 1000 + 1, '', timestamptz '2024-01-01 00:00:00Z' + g * interval '1 ms', 'e'
        FROM generate_series(1, 20000) g;
        INSERT INTO conversations
        SELECT 1101, receiver, max(version_time), (array_agg(message_id ORDER BY version_time DESC))[1]
        FROM messages GROUP BY receiver;
        """)
    }
    for analyzed in [false, true] {
      if analyzed { try database.asOwner { try database.connection.script("VACUUM ANALYZE") } }
      #expect(try pages(database, "feed_page('u1101', NULL, 50)") < 1000)
      #expect(try pages(database, "feed_page('u1102', NULL, 50)") < 1000)
      let middle = "757382430000000:p30000"
      #expect(try pages(database, "feed_page('u1101', '\(middle)', 50)") < 1000)
      #expect(try pages(database, "home_page(NULL, 50)") < 400)
      #expect(try pages(database, "home_page('\(middle)', 50)") < 400)
      #expect(try pages(database, "conversation_list('u1101', NULL, 50)") < 1000)
      #expect(try pages(database, "conversation_page('u1101', 'u7', NULL, 50)") < 400)
    }
  }

  /// How many pages a call touches, once its plans are made.
  private func pages(_ database: FeedDatabase, _ call: String) throws -> Int {
    struct Explained: Decodable {
      struct Plan: Decodable {
        var hits: Int
        var reads: Int
        enum CodingKeys: String, CodingKey {
          case hits = "Shared Hit Blocks"
          case reads = "Shared Read Blocks"
        }
      }
      var plan: Plan
      enum CodingKeys: String, CodingKey { case plan = "Plan" }
    }
    _ = try database.connection.query("SELECT * FROM \(call)")
    let json = try database.connection.query(
      "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM \(call)"
    ).only.text(0)
    let explained = try JSONDecoder().decode([Explained].self, from: Data(json.utf8))
    return explained[0].plan.hits + explained[0].plan.reads
  }
}
