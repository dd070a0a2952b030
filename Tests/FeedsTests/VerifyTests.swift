import Postgres
import Testing

@Suite struct VerifyTests {
  private func database() throws -> FeedDatabase {
    let database = try FeedDatabase(pushLimit: 2)
    try database.apply(
      Say.follow("bo", "ann", at: 1), Say.follow("bo", "cy", at: 1), Say.follow("dee", "cy", at: 1),
      Say.post("pushed", by: "ann", at: 2), Say.post("pulled", by: "cy", at: 3),
      Say.message("m1", from: "ann", to: "bo", at: 4),
      Say.message("m2", from: "ann", to: "bo", at: 5))
    return database
  }

  @Test("verify_feeds finds nothing in a consistent database")
  func well() throws {
    #expect(try database().violations() == [])
  }

  @Test(
    "verify_feeds reports each kind of damage",
    arguments: [
      ("DELETE FROM feed_entries", "feed_entries above the floor"),
      (
        "INSERT INTO feed_entries SELECT u.user_key, p.post_key FROM users u, posts p "
          + "WHERE u.user_id = 'dee' AND p.post_id = 'pushed'", "feed_entries above the floor"
      ),
      ("INSERT INTO feed_entries VALUES (1, 99)", "feed_entries refer to posts"),
      ("UPDATE follow_counts SET followers = followers + 1", "follow_counts"),
      ("DELETE FROM follow_counts", "follow_counts"),
      ("INSERT INTO follow_counts VALUES (4711, 1, 0)", "follow_counts"),
      ("UPDATE posts SET first_at = first_at - interval '1 ms'", "post_key lies"),
      ("DELETE FROM pull_authors", "authors of pulled posts"),
      (
        "UPDATE conversations SET last_message_id = 'm1' WHERE owner < peer", "conversations ="
      ),
      ("DELETE FROM conversations WHERE owner > peer", "conversations ="),
      ("DELETE FROM messages", "conversations ="),
    ])
  func damage(_ statement: String, _ invariant: String) throws {
    let database = try database()
    _ = try database.asOwner { try database.connection.query(statement) }
    let violations = try database.violations()
    #expect(violations.contains { $0.hasPrefix(invariant) }, "\(violations)")
  }

  @Test("a read-only backend can call every function and change nothing")
  func reader() throws {
    let database = try database()
    _ = try database.connection.query("SET ROLE magpie_reader")
    #expect(try database.feed("bo") == ["pulled", "pushed"])
    #expect(try database.ids(database.pages("home_page")) == ["pulled", "pushed"])
    #expect(try database.ids(database.pages("conversation_list", ["bo"])) == ["ann"])
    #expect(try database.ids(database.pages("conversation_page", ["bo", "ann"])) == ["m2", "m1"])
    #expect(try database.stats("cy") == "1|2|0")
    #expect(try database.violations() == [])
    for table in ["users", "posts", "follows", "feed_entries", "messages"] {
      let error = #expect(throws: PostgresError.self) {
        try database.connection.query("DELETE FROM \(table)")
      }
      #expect(error?.sqlstate == "42501")
    }
  }

  @Test("a page has between 1 and 200 rows, whatever the limit; a damaged cursor is an error")
  func limits() throws {
    let database = try FeedDatabase()
    try database.apply((0..<250).map { Say.post("p\($0)", by: "ann", at: $0) })
    for (limit, rows) in [(0, 1), (-5, 1), (10, 10), (1000, 200)] {
      let page = try database.connection.query("SELECT * FROM home_page(NULL, \(limit))")
      #expect(page.count == rows)
    }
    #expect(try database.connection.query("SELECT * FROM home_page(NULL, NULL)").count == 50)
    let error = #expect(throws: PostgresError.self) {
      try database.connection.query("SELECT * FROM feed_page('ann', 'nonsense', 10)")
    }
    #expect(error?.sqlstate == "22P02")
  }
}
