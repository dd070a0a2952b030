import Events
import Feeds
import Handling
import Model
import Notifications
import Postgres
import TestSupport

@testable import Alarms

/// All workers on one database.
struct Stage {
  static let people = ["ann", "bo", "cy", "e\u{301}"]
  static let posts = ["p0", "p1", "p2", "p3"]

  let database: AlarmDatabase
  let fanout: Connection
  let notifier: Connection

  init() throws {
    database = try AlarmDatabase(backlogLimit: 5)
    fanout = try Connection(database.url, applicationName: "fanout")
    try fanout.script("SET ROLE magpie_fanout")
    notifier = try Connection(database.url, applicationName: "notifier")
    try notifier.script("SET ROLE magpie_notification")
  }

  func apply(_ event: Event) throws {
    let (feeds, notifications) = (feedHandler(pushLimit: 10_000), notificationHandler())
    if feeds.topics.contains(event.topic) {
      try feeds.applyDirectly([event], topic: event.topic, on: fanout)
    }
    if event.topic == .profiles { try database.apply(event) }
    guard notifications.topics.contains(event.topic) else { return }
    let outcome = try notifications.applyDirectly([event], topic: event.topic, on: notifier)
    try database.apply(outcome.events)
  }

  func settle() throws {
    var hasMore = true
    while hasMore {
      let outcome = try notificationHandler().runBacklogDirectly(on: notifier)
      try database.apply(outcome.events)
      hasMore = outcome.hasMore
    }
    try database.drain()
  }

  /// The rows of all pages of three, as an app's backend reads them, without the cursors.
  func pages(_ function: String, _ arguments: [String], _ columns: String) throws -> [[String?]] {
    var places = (1...arguments.count + 1).map { "$\($0)" }.joined(separator: ", ")
    if function == "alarm_people" { places = places.replacing("$2", with: "$2::uuid") }
    let sql = "SELECT cursor, \(selected(columns)) FROM \(function)(\(places), 3)"
    var (found, cursor): ([[String?]], String?) = ([], nil)
    while true {
      let rows = try database.admin.query(sql, arguments.map { .text($0) } + [.text(cursor)])
      found += try rows.map { try fields($0, of: rows).dropFirst().map(\.self) }
      guard let last = rows.last, rows.count == 3 else { return found }
      cursor = try last.text(0)
    }
  }

  /// The row of a function that returns at most one.
  func row(_ function: String, _ arguments: [String], _ columns: String) throws -> [String?]? {
    let places = (1...arguments.count).map { "$\($0)" }.joined(separator: ", ")
    let rows = try database.admin.query(
      "SELECT \(selected(columns)) FROM \(function)(\(places))", arguments.map { .text($0) })
    return try rows.first.map { try fields($0, of: rows) }
  }

  private func fields(_ row: Row, of rows: Rows) throws -> [String?] {
    try rows.columnNames.indices.map { try row.textOrNil($0) }
  }

  /// Columns as text, in the model's form.
  private func selected(_ columns: String) -> String {
    columns.split(separator: " ").map { column in
      guard column.hasSuffix("_at") else { return "\(column)::text" }
      return """
        replace(to_char(\(column) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '.000000Z', 'Z')
        """
    }.joined(separator: ", ")
  }

  /// The pages and counts that differ from the model's.
  func differences(from model: Model) throws -> [String] {
    var found: [String] = []
    func compare(_ what: String, _ actual: [[String?]], _ expected: [[String?]]) {
      func bytes(_ rows: [[String?]]) -> [[BytewiseString?]] {
        rows.map { $0.map { $0.map { BytewiseString($0) } } }
      }
      if bytes(actual) != bytes(expected) {
        found.append("\(what): is \(actual), should be \(expected)")
      }
    }
    let post = """
      post_id author_id title caption image_url published_at author_name author_image_url likes \
      comments is_liked is_followed edited_at
      """
    let person = "user_id name image_url is_followed follows_viewer"
    for viewer: String in Stage.people {
      func rows(_ posts: [ModelPost]) -> [[String?]] {
        posts.map { model.row(of: $0, for: viewer) }
      }
      compare(
        "feed of \(viewer)", try pages("feed_page", [viewer], post),
        rows(model.feed(of: viewer)))
      compare(
        "home of \(viewer)", try pages("home_page", [viewer], post),
        rows(model.home(for: viewer)))
      compare(
        "conversations of \(viewer)",
        try pages(
          "conversation_list", [viewer],
          "peer_id message_id sender_id text sent_at peer_name peer_image_url unread"),
        model.conversationRows(of: viewer))
      for other: String in Stage.people {
        let pair = "\(viewer) and \(other)"
        compare(
          "conversation of \(pair)",
          try pages(
            "conversation_page", [viewer, other], "message_id sender_id text sent_at is_read"),
          model.messages(between: viewer, and: other).map {
            [$0.id, $0.sender, $0.text, $0.sentAt.rfc3339, "\(model.isRead($0))"]
          })
        compare(
          "posts, \(pair)", try pages("user_posts_page", [viewer, other], post),
          rows(model.home(for: viewer).filter { $0.author.hasSameBytes(as: other) }))
        compare(
          "followers, \(pair)",
          try pages("followers_page", [viewer, other], person + " followed_at"),
          model.followers(of: other, for: viewer))
        compare(
          "following, \(pair)",
          try pages("following_page", [viewer, other], person + " followed_at"),
          model.following(of: other, for: viewer))
        let profile = try row(
          "profile", [viewer, other],
          """
          user_id shown_name nickname name major bio image_url locale posts followers following \
          is_followed follows_viewer is_blocked is_muted
          """)
        compare(
          "profile, \(pair)", profile.map { [$0] } ?? [],
          model.profileRow(of: other, for: viewer).map { [$0] } ?? [])
      }
      for id: String in Stage.posts {
        compare(
          "post \(id) for \(viewer)", try row("post", [viewer, id], post).map { [$0] } ?? [],
          rows(model.home(for: viewer).filter { $0.id.hasSameBytes(as: id) }))
        compare(
          "likers of \(id) for \(viewer)",
          try pages("likers_page", [viewer, id], person + " liked_at"),
          model.likers(of: id, for: viewer))
        compare(
          "comments on \(id) for \(viewer)",
          try pages(
            "comment_page", [viewer, id],
            "comment_id actor_id text created_at actor_name actor_image_url edited_at"),
          model.commentRows(on: id, for: viewer))
      }
      compare(
        "people for \(viewer)",
        try pages(
          "search_users", ["", viewer],
          "user_id nickname name major image_url shown_name is_followed follows_viewer"),
        model.everybody(for: viewer))
      let notifications = model.notifications(of: viewer)
      // What an alarm's text was rendered from follows when its review has reached it.
      let isReviewed = try database.admin.query("SELECT has_reviews($1)", [.text(viewer)]).only
        .bool(0)
      let rendered = [
        "actor_count", "image_url", "actor_image_url", "actor_name", "actor_is_followed",
      ]
      let columns = [
        "notification_id", "actor_count", "unread", "unseen", "post_id", "comment_id", "image_url",
        "thumbnail_url", "actor_image_url", "actor_name", "actor_is_followed",
      ]
      let compared = columns.indices.filter { !isReviewed || !rendered.contains(columns[$0]) }
      compare(
        "alarms of \(viewer)",
        try pages(
          "alarm_page", [viewer], compared.map { columns[$0] }.joined(separator: " ")),
        notifications.map { notification in
          let row =
            [
              notification.id, "\(notification.actorCount)", "\(notification.isUnread)",
              "\(notification.isUnseen)", notification.post ?? "", notification.comment ?? "",
            ] + model.details(of: notification)
          return compared.map { row[$0] }
        })
      for notification in notifications {
        compare(
          "people behind \(notification.id)",
          try pages("alarm_people", [viewer, notification.id], person + " acted_at"),
          model.people(behind: notification))
      }
      let (unread, unseen) = (model.unreadCount(of: viewer), model.badge(of: viewer))
      let counts = try database.admin.query(
        """
        SELECT concat_ws(
          ' ', unread_count($1), has_unread($1)::text, badge($1), has_unseen($1)::text)
        """, [.text(viewer)]
      ).only.text(0)
      compare(
        "counts of \(viewer)", [[counts]], [["\(unread) \(unread > 0) \(unseen) \(unseen > 0)"]])
    }
    return found
  }
}
