import Events
public import Model
public import Postgres

/// Compares what users see, through the backend's SQL functions where they exist, with what the
/// model computes from the same events.
public struct ModelComparison {
  private let model: Model
  private let connection: Connection

  /// - Parameter model: a model fed with the events that every worker applied.
  public init(model: Model, connection: Connection) {
    (self.model, self.connection) = (model, connection)
  }

  /// The differences, a few samples of each kind; empty if there are none.
  public func differences() throws -> [String] {
    let notified = model.notifications
    let parts: [(String, expected: [[String?]], found: [[String?]])] = [
      (
        "follows", model.allFollows.map(\.fields),
        try rows(
          """
          SELECT e.user_id, r.user_id, f.active::text FROM follows f
          JOIN users e ON e.user_key = f.followee JOIN users r ON r.user_key = f.follower
          """)
      ),
      (
        "posts",
        model.home.map {
          [$0.id, $0.author, $0.title, $0.caption, $0.imageURL, $0.firstAt?.rfc3339]
        },
        try rows(
          """
          SELECT p.post_id, u.user_id, p.title, p.caption, p.image_url, \(time("p.first_at"))
          FROM posts p JOIN users u ON u.user_key = p.author WHERE NOT p.deleted
          """)
      ),
      ("feeds", expectedFeeds, try pages("feed_page", "post_id, published_at")),
      ("conversations", expectedConversations, try pages("conversation_list", "peer_id, sent_at")),
      ("messages", model.allMessages.map(\.fields), try rows(messages)),
      (
        "profile statistics",
        model.profileStats.map { user, stats in
          [user.string, "\(stats.posts)", "\(stats.followers)", "\(stats.following)"]
        },
        try rows(
          """
          SELECT u.user_id, s.posts::text, s.followers::text, s.following::text
          FROM users u CROSS JOIN LATERAL profile_stats(u.user_id) s
          WHERE (s.posts, s.followers, s.following) <> (0, 0, 0)
          """)
      ),
      (
        "likes", model.allLikes.map(\.fields),
        try rows(
          "SELECT post_id, actor, post_owner, active::text, \(time("first_at")) FROM likes")
      ),
      (
        "comments",
        model.allComments.filter(\.isActive).map { [$0.id, $0.post, $0.actor, $0.text] },
        try rows("SELECT comment_id, post_id, actor, text FROM comments WHERE active")
      ),
      (
        "post statistics",
        model.postStats.map {
          [$0.key.string, "\($0.value.likes)", "\($0.value.comments)"]
        },
        try rows(
          """
          SELECT p.post_id, s.likes::text, s.comments::text
          FROM post_counts p CROSS JOIN LATERAL post_stats(p.post_id) s
          WHERE (s.likes, s.comments) <> (0, 0)
          """)
      ),
      ("notifications", notified.map(\.fields), try rows(shownNotifications)),
      (
        "badges",
        Dictionary(grouping: notified.filter(\.isUnread)) { BytewiseString($0.recipient) }.map {
          [$0.string, "\(min($1.count, Model.countedAlarmsMax))"]
        },
        try rows(
          """
          SELECT u.user_id, unread_count(u.user_id)::text
          FROM notification_recipients u WHERE unread_count(u.user_id) > 0
          """)
      ),
      (
        "unseen badges",
        Dictionary(grouping: notified.filter(\.isUnseen)) { BytewiseString($0.recipient) }.map {
          [$0.string, "\(min($1.count, Model.countedAlarmsMax))"]
        },
        try rows(
          """
          SELECT u.user_id, badge(u.user_id)::text
          FROM notification_recipients u WHERE badge(u.user_id) > 0
          """)
      ),
      (
        "profiles", model.allProfiles.map(\.fields),
        try rows(
          """
          SELECT user_id, nickname, locale, image_url, name, major, bio FROM profiles
          WHERE version_time > '-infinity' OR has_edits
          """)
      ),
      (
        "alarms shown", notified.map { [$0.id, $0.recipient, "\($0.type)", "\($0.isUnread)"] },
        try shownAlarms()
      ),
    ]
    return parts.flatMap { compare($0, expected: $1, found: $2) }
  }

  private var expectedFeeds: [[String?]] {
    model.feeds.flatMap { user, posts in
      posts.enumerated().map {
        [user.string, "\($0)", $1.id, $1.publishedAt.rfc3339]
      }
    }
  }

  private var expectedConversations: [[String?]] {
    model.conversations.flatMap { user, list in
      list.enumerated().map {
        [user.string, "\($0)", $1.peer, $1.last.sentAt.rfc3339]
      }
    }
  }

  private let messages = """
    SELECT m.message_id, s.user_id, r.user_id, m.text, \(time("m.version_time"))
    FROM messages m JOIN users s ON s.user_key = m.sender JOIN users r ON r.user_key = m.receiver
    """

  private let shownNotifications = """
    SELECT notification_id::text, recipient, type::text, subject, bucket::text, actor,
      second_actor, actor_count::text, contribution_count::text, post_id, comment_id, head_text,
      \(time("raised_at")), \(time("oldest_at")), unread::text, source, image_url, arguments::text,
      unseen::text
    FROM shown_notifications
    """

  private func shownAlarms() throws -> [[String?]] {
    var result: [[String?]] = []
    for user in model.people {
      var before: String?
      while true {
        let page = try connection.query(
          "SELECT notification_id::text, type, unread::text, cursor FROM alarm_page($1, $2, 100)",
          [.text(user), .text(before)])
        for row in page {
          result.append([try row.text(0), user, "\(try row.int(1))", try row.text(2)])
        }
        guard page.count == 100, let last = page.last else { break }
        before = try last.text(3)
      }
    }
    return result
  }

  /// All pages of all users, each row with its user and position.
  private func pages(_ function: String, _ columns: String) throws -> [[String?]] {
    let (id, at) = (columns.prefix { $0 != "," }, columns.drop { $0 != "," }.dropFirst(2))
    var result: [[String?]] = []
    for user in try connection.query("SELECT user_id FROM users") {
      let user = try user.text(0)
      var (before, place): (String?, Int) = (nil, 0)
      while true {
        let page = try connection.query(
          "SELECT \(id), \(time(String(at))), cursor FROM \(function)($1, $2, 60)",
          [.text(user), .text(before)])
        for row in page {
          result.append([user, "\(place)", try row.text(0), try row.text(1)])
          place += 1
        }
        guard page.count == 60, let last = page.last else { break }
        before = try last.text(2)
      }
    }
    return result
  }

  private func rows(_ sql: String) throws -> [[String?]] {
    let rows = try connection.query(sql)
    return try rows.map { row in try rows.columnNames.indices.map { try row.textOrNil($0) } }
  }

  private func compare(_ name: String, expected: [[String?]], found: [[String?]]) -> [String] {
    let (expected, found) = (lines(expected), lines(found))
    let (missing, extra) = (expected.subtracting(found), found.subtracting(expected))
    return missing.sorted().prefix(3).map { "\(name): missing \($0)" }
      + extra.sorted().prefix(3).map { "\(name): extra \($0)" }
  }

  /// Rows as comparable lines; duplicates are numbered.
  private func lines(_ rows: [[String?]]) -> Set<BytewiseString> {
    var seen: [BytewiseString: Int] = [:]
    return Set(
      rows.map { row in
        let line = BytewiseString(row.map { $0 ?? "NULL" }.joined(separator: " | "))
        seen[line, default: 0] += 1
        return BytewiseString("\(line) #\(seen[line, default: 0])")
      })
  }
}
