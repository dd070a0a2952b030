import Events
import Handling
import Model
import Postgres
import TestSupport

@testable import Feeds

/// A separate database and a worker's connection to it, with the worker's role.
struct FeedDatabase {
  let url: String
  let connection: Connection
  let handler: Handler

  init(pushLimit: Int = 10_000) throws { try self.init(FeedLimits(pushLimit: pushLimit)) }

  init(_ limits: FeedLimits) throws {
    try self.init(url: TestDatabase.fresh(), handler: feedHandler(limits))
  }

  init(url: String, handler: Handler) throws {
    self.url = url
    self.handler = handler
    connection = try Connection(url, applicationName: "feeds test")
    _ = try connection.query("SET ROLE magpie_fanout")
  }

  /// Applies each event in a transaction of its own.
  func apply(_ events: Event...) throws {
    for event in events { try apply([event]) }
  }

  /// Applies a batch in one transaction per topic.
  @discardableResult
  func apply(_ batch: [Event]) throws -> [String: Int] {
    var counts: [String: Int] = [:]
    for topic in handler.topics {
      let events = batch.filter { $0.topic == topic }
      if events.isEmpty { continue }
      let outcome = try handler.applyDirectly(events, topic: topic, on: connection)
      counts.merge(outcome.counts) { $0 + $1 }
    }
    return counts
  }

  /// Applies events as the lane does: a transaction that lost a race is run again. Returns the
  /// reasons.
  func applyRetrying(_ events: [Event]) throws -> [String] {
    var reasons: [String] = []
    while reasons.count < 1000 {
      do {
        try apply(events)
        return reasons
      } catch let error as PostgresError where ["40001", "40P01"].contains(error.sqlstate) {
        reasons.append(error.message)
      }
    }
    throw Unexpected(description: "1000 attempts at one batch")
  }

  /// Runs the backlog until no work is left; returns its counts.
  @discardableResult
  func runBacklog() throws -> [String: Int] {
    var counts: [String: Int] = [:]
    while true {
      let outcome = try handler.runBacklogDirectly(on: connection)
      counts.merge(outcome.counts) { $0 + $1 }
      if !outcome.hasMore { return counts.filter { $0.value > 0 } }
    }
  }

  /// Runs the backlog until no known garbage is left; returns the number of deleted entries.
  @discardableResult
  func sweep() throws -> Int {
    var swept = 0
    repeat {
      swept += try runBacklog()["swept"] ?? 0
    } while try connection.query("SELECT FROM feed_trims").count > 0
    return swept
  }

  /// Makes and drops partitions as of a moment.
  @discardableResult
  func keepPartitions(microseconds history: Int64, at now: Int64) throws -> Bool {
    try connection.query(
      "SELECT feeds_keep_partitions($1::bigint * interval '1 microsecond', $2)",
      [.int8(history), .timestamptz(now)]
    ).only.bool(0)
  }

  /// As if the floor of all feeds had been raised more than an hour ago.
  func passHour() throws {
    try asOwner { try connection.script("UPDATE feed_history SET raised_at = '-infinity'") }
  }

  /// Calls `feed_touch` as a backend does.
  func touch(_ person: String) throws -> Bool {
    _ = try connection.query("SET ROLE magpie_backend")
    defer { _ = try? connection.query("SET ROLE magpie_fanout") }
    return try connection.query("SELECT feed_touch($1)", [.text(person)]).only.bool(0)
  }

  /// Moves the last visits of all users into the past.
  func passDays(_ days: Int) throws {
    _ = try connection.query(
      "UPDATE feed_visits SET visited_at = visited_at - \(days) * interval '1 day'")
  }

  /// The stored live entries above the floor, newest first.
  func stored(_ person: String) throws -> [String] {
    try connection.query(
      """
      SELECT p.post_id FROM users u JOIN feed_entries e ON e.owner = u.user_key
      LEFT JOIN feeds f ON f.owner = e.owner JOIN posts p USING (post_key)
      WHERE u.user_id = $1 AND e.post_key >= greatest(f.floor, (SELECT floor FROM feed_history))
      ORDER BY e.post_key DESC
      """, [.text(person)]
    ).map { try $0.text(0) }
  }

  func asOwner<T>(_ body: () throws -> T) throws -> T {
    _ = try connection.query("RESET ROLE")
    let result = try body()
    _ = try connection.query("SET ROLE magpie_fanout")
    return result
  }

  /// All pages of a page function, the columns before the cursor. The last parameters are the cursor
  /// and the limit.
  func pages(
    _ function: String, _ arguments: [String] = [], limit: () -> Int = { 200 }
  ) throws -> [BytewiseString] {
    let placeholders = (1...arguments.count + 2).map { "$\($0)" }.joined(separator: ", ")
    let sql = "SELECT * FROM \(function)(\(placeholders))"
    var (lines, cursor): ([BytewiseString], String?) = ([], nil)
    while true {
      let limit = limit()
      let rows = try connection.query(
        sql, arguments.map { .text($0) } + [.text(cursor), .int4(Int32(limit))])
      if rows.count > limit { throw Unexpected(description: "\(rows.count) rows, limit \(limit)") }
      let names = rows.columnNames.prefix { $0 != "cursor" }
      for row in rows {
        let fields = try names.map { name in
          name.hasSuffix("_at") ? String(try row.timestamptz(name)) : try row.text(name)
        }
        lines.append(BytewiseString(fields.joined(separator: "|")))
      }
      guard rows.count == limit, let last = rows.last else { return lines }
      cursor = try last.text("cursor")
    }
  }

  func feed(_ reader: String) throws -> [String] { try ids(pages("feed_page", [reader])) }

  func ids(_ lines: [BytewiseString]) -> [String] {
    lines.map { String($0.string.prefix { $0 != "|" }) }
  }

  func stats(_ person: String) throws -> BytewiseString {
    let row = try connection.query("SELECT * FROM profile_stats($1)", [.text(person)]).only
    return BytewiseString(
      try ["posts", "followers", "following"].map { "\(try row.int($0))" }.joined(separator: "|"))
  }

  func count(_ table: String) throws -> Int {
    try connection.query("SELECT count(*) FROM \(table)").only.int(0)
  }

  /// The violations that `verify_feeds()` finds; empty if there are none.
  func violations() throws -> [String] {
    try connection.query("SELECT * FROM verify_feeds()").map { row in
      try ["invariant", "subject", "expected", "found"].map { try row.text($0) }
        .joined(separator: " | ")
    }
  }

  /// The differences from the model, in a few words each; empty if there are none.
  func differences(from model: Model, limit: () -> Int = { 200 }) throws -> [String] {
    var found: [String] = []
    func compare(_ what: String, _ actual: [BytewiseString], _ expected: [[String]]) {
      let expected = expected.map { BytewiseString($0.joined(separator: "|")) }
      if actual != expected {
        found.append("\(what):\n  is \(actual)\n  should be \(expected)")
      }
    }
    compare("home", try pages("home_page", limit: limit), model.home.map(\.columns))
    for id in model.people {
      compare(
        "feed of \(id)", try pages("feed_page", [id], limit: limit),
        model.feed(of: id).map(\.columns))
      let stats = model.profileStats(of: id)
      compare(
        "stats of \(id)", [try self.stats(id)],
        [["\(stats.posts)", "\(stats.followers)", "\(stats.following)"]])
      compare(
        "conversations of \(id)", try pages("conversation_list", [id], limit: limit),
        model.conversations(of: id).map { [$0.peer] + $0.last.columns })
      compare(
        "unread messages of \(id)",
        try connection.query(
          "SELECT peer_id || '|' || unread FROM conversation_list($1, NULL, 200)", [.text(id)]
        ).map { BytewiseString(try $0.text(0)) },
        model.conversations(of: id).map { [$0.peer, "\($0.unread)"] })
      for peer in model.people {
        compare(
          "conversation of \(id) with \(peer)",
          try pages("conversation_page", [id, peer], limit: limit),
          model.messages(between: id, and: peer).map(\.columns))
      }
    }
    return found
  }
}

// The columns of the page functions, without the cursor.
extension ModelPost {
  var columns: [String] {
    [id, author, title, caption, imageURL, "\(publishedAt.microseconds)"]
  }
}

extension ModelMessage {
  var columns: [String] { [id, sender, text, "\(sentAt.microseconds)"] }
}

struct Unexpected: Error {
  let description: String
}
