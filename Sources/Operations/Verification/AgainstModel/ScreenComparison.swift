import Events
public import Model
public import Postgres

/// Compares all pages of the page functions, in order, with the model's. Valid once every worker has
/// caught up, reviews aside.
public struct ScreenComparison {
  private let model: ModelScreens
  private let connection: Connection
  /// The viewers, and whom they look at.
  private let people: [String]
  /// The posts that each of them opens.
  private let posts: [String]
  private let limit: Int

  /// - Parameter limit: rows per page; small, so that there are many.
  public init(
    model: Model, connection: Connection, people: [String], posts: [String], limit: Int
  ) {
    (self.model, self.connection) = (ModelScreens(model), connection)
    (self.people, self.posts, self.limit) = (people, posts, limit)
  }

  private static let post = """
    post_id author_id title caption image_url published_at author_name author_image_url likes \
    comments is_liked is_followed edited_at
    """
  private static let person = "user_id name image_url is_followed follows_viewer"

  /// The pages and counts that differ.
  public func differences() throws -> [String] { try people.flatMap(differences) }

  private func differences(for viewer: String) throws -> [String] {
    var found: [String] = []
    func compare(
      _ function: String, _ arguments: [String], _ columns: String, _ expected: [[String?]]
    ) throws {
      let actual = try pages(function, arguments, columns)
      let place = zip(actual, expected).prefix { bytes($0) == bytes($1) }.count
      guard place < max(actual.count, expected.count) else { return }
      let (row, should) = (actual.dropFirst(place).first, expected.dropFirst(place).first)
      found.append(
        "\(function)\(arguments), row \(place) of \(actual.count): is \(row.map(line) ?? "missing"), "
          + "should be \(should.map(line) ?? "missing")")
    }
    try compare("feed_page", [viewer], Self.post, model.feed(of: viewer))
    try compare("home_page", [viewer], Self.post, model.posts(for: viewer))
    try compare(
      "conversation_list", [viewer],
      "peer_id message_id sender_id text sent_at peer_name peer_image_url unread",
      model.conversationRows(of: viewer))
    for other in people {
      try compare(
        "conversation_page", [viewer, other],
        "message_id sender_id text sent_at sender_name is_read",
        model.messageRows(between: viewer, and: other))
      try compare(
        "user_posts_page", [viewer, other], Self.post,
        model.posts(for: viewer) { $0.author.hasSameBytes(as: other) })
      try compare(
        "followers_page", [viewer, other], Self.person + " followed_at",
        model.followers(of: other, for: viewer))
      try compare(
        "following_page", [viewer, other], Self.person + " followed_at",
        model.following(of: other, for: viewer))
      guard model.named.contains(BytewiseString(other)) else { continue }
      try compare(
        "profile", [viewer, other],
        """
        user_id shown_name nickname name major bio image_url locale posts followers following \
        is_followed follows_viewer is_blocked is_muted
        """, [model.profileRow(of: other, for: viewer)].compactMap(\.self))
    }
    for id in posts {
      try compare(
        "post", [viewer, id], Self.post, model.posts(for: viewer) { $0.id.hasSameBytes(as: id) })
      try compare(
        "likers_page", [viewer, id], Self.person + " liked_at", model.likers(of: id, for: viewer))
      try compare(
        "comment_page", [viewer, id],
        "comment_id actor_id text created_at actor_name actor_image_url edited_at",
        model.commentRows(on: id, for: viewer))
    }
    let everybody = model.everybody(for: viewer)
    // Letters that no other character folds to.
    for query in ["", "na", "PHY"] {
      try compare(
        "search_users", [query, viewer],
        "user_id nickname name major image_url shown_name is_followed follows_viewer",
        everybody.filter { row in
          query.isEmpty
            || row[1...3].contains { $0?.lowercased().contains(query.lowercased()) ?? false }
        })
    }
    let notifications = model.notifications(of: viewer)
    let columns = try alarmColumns(viewer)
    try compare(
      "alarm_page", [viewer], columns.joined(separator: " "),
      notifications.map { notification in
        let row = model.alarmRow(of: notification)
        return columns.map { row[$0] ?? nil }
      })
    for notification in notifications {
      try compare(
        "alarm_people", [viewer, notification.id], Self.person + " acted_at",
        model.people(behind: notification))
    }
    let (unread, unseen) = (
      min(notifications.count(where: \.isUnread), Model.countedAlarmsMax),
      min(notifications.count(where: \.isUnseen), Model.countedAlarmsMax)
    )
    for (function, count) in [
      ("unread_count", "\(unread)"), ("has_unread", "\(unread > 0)"), ("badge", "\(unseen)"),
      ("has_unseen", "\(unseen > 0)"),
    ] {
      try compare(function, [viewer], function, [[count]])
    }
    return found
  }

  /// What an alarm's text was rendered from follows when its review has reached it.
  private func alarmColumns(_ viewer: String) throws -> [String] {
    let isReviewed = try connection.query("SELECT has_reviews($1)", [.text(viewer)]).only.bool(0)
    let rendered = [
      "actor_count", "image_url", "actor_image_url", "actor_name", "actor_is_followed",
    ]
    return [
      "notification_id", "unread", "unseen", "post_id", "comment_id", "thumbnail_url",
    ] + (isReviewed ? [] : rendered)
  }

  /// The rows of all pages, as an app's backend reads them, without the cursors.
  public func pages(
    _ function: String, _ arguments: [String], _ columns: String
  ) throws -> [[String?]] {
    let isPaged = function.contains("_page") || Self.otherPages.contains(function)
    var places = arguments.indices.map { "$\($0 + 1)" }
    if function == "alarm_people" { places[1] += "::uuid" }
    if isPaged { places += ["$\(places.count + 1)", "\(limit)"] }
    let sql = """
      SELECT \(isPaged ? "cursor" : "NULL"), \(selected(columns))
      FROM \(function)(\(places.joined(separator: ", "))) \(isPaged ? "" : function)
      """
    var (found, cursor): ([[String?]], String?) = ([], nil)
    while true {
      let last = isPaged ? [Parameter.text(cursor)] : []
      let rows = try connection.query(sql, arguments.map { .text($0) } + last)
      found += try rows.map { row in
        try rows.columnNames.indices.dropFirst().map { try row.textOrNil($0) }
      }
      guard isPaged, rows.count == limit, let last = rows.last else { return found }
      cursor = try last.text(0)
    }
  }

  private static let otherPages = ["conversation_list", "search_users", "alarm_people"]

  /// Columns as text, in the model's form.
  private func selected(_ columns: String) -> String {
    columns.split(separator: " ").map(String.init).map {
      $0.hasSuffix("_at") ? time($0) : "\($0)::text"
    }.joined(separator: ", ")
  }

  private func bytes(_ row: [String?]) -> [BytewiseString?] {
    row.map { $0.map { BytewiseString($0) } }
  }

  private func line(_ row: [String?]) -> String {
    row.map { $0 ?? "NULL" }.joined(separator: " | ")
  }
}
