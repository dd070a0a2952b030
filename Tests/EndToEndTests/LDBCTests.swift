import EmbeddedStack
import Foundation
import Model
import Postgres
import TestSupport
import Testing

/// Sends the LDBC Social Network Benchmark's test data through the whole pipeline and compares all
/// results with those that SQL computes from the benchmark's files, loaded as plain tables.
@Suite struct LDBCTests {
  /// `MAGPIE_LDBC_DIR`, or a directory next to the checkout.
  static let directory: String? = {
    let candidates = [
      ProcessInfo.processInfo.environment["MAGPIE_LDBC_DIR"],
      FileManager.default.currentDirectoryPath + "/../shared/data/ldbc-snb",
    ]
    return candidates.compactMap { $0 }.first {
      FileManager.default.fileExists(atPath: $0 + "/person_0_0.csv")
    }
  }()

  @Test(
    "feeds, comments, counts, notifications, alarms and screens equal the results of SQL on the files",
    .enabled(if: LDBCTests.directory != nil, "set MAGPIE_LDBC_DIR to the benchmark's files"))
  func equalsSQL() async throws {
    let directory = try #require(LDBCTests.directory)
    let stack = try Stack(partitions: 4, settings: ["MAGPIE_FEED_LENGTH": "100000"])
    defer { stack.stop() }
    for worker in Stack.workers { try stack.start(worker) }
    let imported = try stack.magpie("import", "ldbc-snb", directory)
    #expect(imported.exit == .exited(0), "\(imported.output)")
    let verified = try stack.magpie("verify", "--wait", hangLimitText)
    #expect(verified.exit == .exited(0), "\(verified.output)\n\(stack.logTails)")

    try load(directory, into: stack)
    let connection = try stack.connection()
    #expect(try connection.query("SELECT count(*) FROM ldbc.post").only.int(0) > 7000)
    for comparison in Comparison.all {
      let differences = try connection.query(
        """
        WITH expected AS MATERIALIZED (\(comparison.expected)),
        found AS MATERIALIZED (\(comparison.found))
        (SELECT 'missing' AS kind, e::text AS row FROM expected e
          EXCEPT SELECT 'missing', f::text FROM found f)
        UNION ALL
        (SELECT 'extra', f::text FROM found f EXCEPT SELECT 'extra', e::text FROM expected e)
        LIMIT 5
        """)
      let samples = try differences.map { "\(try $0.text(0)) \(try $0.text(1))" }
      #expect(samples.isEmpty, "\(comparison.name): \(samples)")
      let compared = try connection.query("SELECT count(*) FROM (\(comparison.expected)) e")
      #expect(try compared.only.int(0) > 0, "\(comparison.name) compares nothing")
    }

    try change(stack, connection)
    for screen in LDBCScreen.all {
      let (rows, difference) = try compare(screen, connection)
      #expect(difference == nil, "\(screen.call)")
      #expect(rows > 0, "\(screen.call) compares nothing")
    }
  }

  /// Changes the plain tables, and publishes the same changes.
  private func change(_ stack: Stack, _ connection: Connection) throws {
    try connection.script(LDBCSchema.changes)
    let lines = try connection.query(LDBCSchema.changeLines).map { try $0.text(0) }
    let path = stack.directory.appending(path: "changes.jsonl")
    try Data(lines.joined(separator: "\n").utf8).write(to: path)
    for arguments in [["publish", path.path], ["verify", "--wait", hangLimitText]] {
      let done = try stack.magpie(arguments)
      #expect(done.exit == .exited(0), "\(done.output)\n\(stack.logTails)")
    }
  }

  /// Compares all pages of a screen, in order, for all viewers and subjects. Returns the number of rows
  /// and the first difference.
  private func compare(_ screen: LDBCScreen, _ connection: Connection) throws -> (Int, String?) {
    func rows(
      _ sql: String, _ viewer: String, _ subject: String = "", _ cursor: String? = nil
    ) throws -> [(cursor: String?, row: String)] {
      try connection.query(
        sql, [.text(viewer), .text(subject), .text(cursor), .int4(screen.limit)]
      ).map { (try $0.textOrNil(0), try $0.text(1)) }
    }
    let isPaged = screen.call.contains("$3")
    let page = """
      SELECT \(isPaged ? "cursor" : "NULL"), ROW(\(screen.columns))::text FROM \(screen.call)
      """
    let plain = "SELECT NULL, ROW(\(screen.columns))::text FROM (\(screen.plain)) t"
    var compared = 0
    for viewer in try connection.query(LDBCScreen.viewers).map({ try $0.text(0) }) {
      for subject in try rows("SELECT NULL, s.* FROM (\(screen.subjects)) s", viewer).map(\.row) {
        let expected = try rows(plain, viewer, subject).map(\.row)
        var next = try rows(page, viewer, subject)
        var found = next
        // A full page may be the last one; the next one is empty then.
        while isPaged, next.count == Int(screen.limit), let cursor = next.last?.cursor {
          next = try rows(page, viewer, subject, cursor)
          found += next
        }
        compared += expected.count
        guard found.map(\.row) != expected else { continue }
        let place = zip(found, expected).prefix { $0.row == $1 }.count
        return (
          compared,
          "\(viewer) \(subject), row \(place): is \(found.dropFirst(place).first?.row ?? "missing"), "
            + "should be \(expected.dropFirst(place).first ?? "missing")"
        )
      }
    }
    return (compared, nil)
  }

  /// Loads the files with psql and creates the plain tables.
  private func load(_ directory: String, into stack: Stack) throws {
    let plain = "WITH (FORMAT csv, DELIMITER '|', HEADER, QUOTE E'\\b')"
    let lines = "WITH (FORMAT csv, DELIMITER E'\\x01', QUOTE E'\\b')"
    var script = LDBCSchema.tables
    for (table, file) in [
      ("person_file", "person"), ("knows_file", "person_knows_person"), ("post_file", "post"),
      ("comment_file", "comment"), ("likes_file", "person_likes_post"),
      ("language_file (person, language)", "person_speaks_language"),
    ] {
      script += "\\copy ldbc.\(table) FROM '\(directory)/\(file)_0_0.csv' \(plain)\n"
    }
    for file in ["person", "forum"] {
      script +=
        "\\copy ldbc.update_file FROM '\(directory)/updateStream_0_0_\(file).csv' \(lines)\n"
    }
    script += LDBCSchema.views
    let path = stack.directory.appending(path: "ldbc.sql")
    try Data(script.utf8).write(to: path)
    let log = stack.directory.appending(path: "psql.log").path
    let psql = try ChildProcess(
      "/usr/bin/env",
      ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", stack.databaseURL, "-f", path.path],
      output: .file(log))
    #expect(
      psql.wait(seconds: hangLimitSeconds) == .exited(0),
      "\((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
  }
}

/// Two queries that must return the same rows.
private struct Comparison {
  var name: String
  var expected: String
  var found: String

  static let all = [
    Comparison(
      name: "nicknames",
      expected: "SELECT id, name FROM ldbc.person",
      found: "SELECT user_id, nickname FROM profiles WHERE version_time > '-infinity'"),
    Comparison(
      name: "follows",
      expected: "SELECT follower, followee FROM ldbc.follow",
      found: """
        SELECT r.user_id, e.user_id FROM follows f JOIN users r ON r.user_key = f.follower
        JOIN users e ON e.user_key = f.followee WHERE f.active
        """),
    Comparison(
      name: "posts",
      expected: "SELECT id, author, content, image, created FROM ldbc.post",
      found: """
        SELECT p.post_id, u.user_id, p.caption, p.image_url, p.first_at
        FROM posts p JOIN users u ON u.user_key = p.author WHERE NOT p.deleted
        """),
    Comparison(
      name: "feeds",
      expected: """
        SELECT f.follower, p.id FROM ldbc.follow f JOIN ldbc.post p ON p.author = f.followee
        """,
      found: """
        SELECT u.user_id, p.post_id FROM feed_entries e JOIN users u ON u.user_key = e.owner
        JOIN posts p USING (post_key)
        """),
    Comparison(
      name: "first pages of feeds, in order",
      expected: """
        SELECT q.id, page.posts FROM ldbc.person q CROSS JOIN LATERAL (
          SELECT array_agg(t.id ORDER BY t.created DESC, t.id COLLATE "C" DESC) AS posts FROM (
            SELECT p.id, p.created FROM ldbc.follow f JOIN ldbc.post p ON p.author = f.followee
            WHERE f.follower = q.id ORDER BY p.created DESC, p.id COLLATE "C" DESC LIMIT 100) t
        ) page
        """,
      found: """
        SELECT q.user_id, page.posts FROM profiles q CROSS JOIN LATERAL (
          SELECT array_agg(f.post_id ORDER BY f.ordinality) AS posts
          FROM feed_page(q.user_id, NULL, 100) WITH ORDINALITY f) page
        WHERE q.version_time > '-infinity'
        """),
    Comparison(
      name: "comments",
      expected: "SELECT id, post, author, content FROM ldbc.comment",
      found: "SELECT comment_id, post_id, actor, text FROM comments WHERE active"),
    Comparison(
      name: "likes and comments of every post",
      expected: """
        SELECT p.id, (SELECT count(*) FROM ldbc.likes l WHERE l.post = p.id),
          (SELECT count(*) FROM ldbc.comment c WHERE c.post = p.id) FROM ldbc.post p
        """,
      found: """
        SELECT p.post_id, s.likes, s.comments FROM posts p CROSS JOIN LATERAL post_stats(p.post_id) s
        """),
    Comparison(
      name: "profile statistics",
      expected: """
        SELECT q.id, (SELECT count(*) FROM ldbc.post p WHERE p.author = q.id),
          (SELECT count(*) FROM ldbc.follow f WHERE f.followee = q.id),
          (SELECT count(*) FROM ldbc.follow f WHERE f.follower = q.id) FROM ldbc.person q
        """,
      found: """
        SELECT q.user_id, s.posts, s.followers, s.following
        FROM profiles q CROSS JOIN LATERAL profile_stats(q.user_id) s
        WHERE q.version_time > '-infinity'
        """),
    Comparison(
      name: "notifications",
      expected: LDBCSchema.notifications,
      found: """
        SELECT n.recipient, n.type::int, n.subject, n.bucket::text, n.actor_count
        FROM shown_notifications n
        """),
    Comparison(
      name: "badges",
      expected: """
        SELECT q.id, least(count(n.*), \(Model.countedAlarmsMax)) FROM ldbc.person q
        LEFT JOIN (\(LDBCSchema.notifications)) n (recipient) ON n.recipient = q.id GROUP BY q.id
        """,
      found: """
        SELECT q.user_id, unread_count(q.user_id)::bigint FROM profiles q
        WHERE q.version_time > '-infinity'
        """),
    Comparison(
      name: "alarm sentences name the person who did it",
      expected: """
        SELECT n.recipient, n.type, n.subject, true FROM (\(LDBCSchema.notifications))
        n (recipient, type, subject)
        """,
      found: """
        SELECT a.recipient, a.type::int, n.subject, position(p.nickname IN a.text) > 0
        FROM alarms a JOIN notifications n USING (notification_id)
        JOIN profiles p ON p.user_id = a.actor WHERE NOT a.retracted
        """),
  ]
}
