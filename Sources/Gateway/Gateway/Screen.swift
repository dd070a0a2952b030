import Events
import Foundation
import Postgres

/// The content of one screen of an app: one call of a function of docs/sql.md on behalf of the
/// viewer.
///
/// A screen is a row of ``all``; no other code in the gateway knows individual screens.
struct Screen: Sendable {
  enum Argument: Sendable {
    /// The subject of the token. Never a parameter, so no client can read as somebody else.
    case viewer
    /// The id in the path's parameter of this name.
    case id(String)
    /// The UUID in the path's parameter of this name.
    case uuid(String)
    /// The text in the query's parameter of this name; empty if it is missing.
    case query(String)
  }

  enum Shape: Sendable {
    /// Rows with a cursor: `{"items": […], "next": …}`. The function also takes a cursor and a
    /// limit.
    case page
    /// One row as an object, or none.
    case row
    /// The function is an expression of type `json`.
    case value
  }

  let path: String
  let shape: Shape
  /// The function's name; for `value`, an expression with `$1`, `$2`, ….
  let function: String
  let arguments: [Argument]
  /// The consumer groups of the workers whose results the screen shows.
  let groups: Set<ConsumerGroup>
  /// Whether it shows alarms, which two workers write, one after the other.
  let showsAlarms: Bool
  /// Whether there is nothing to show unless the viewer may see the post, the first argument after
  /// the viewer.
  let needsPost: Bool
  /// The SQL text, shared by all of the screen's statements, which open streams keep.
  private let sql: String

  init(
    path: String, shape: Shape, function: String, arguments: [Argument],
    groups: Set<ConsumerGroup>, showsAlarms: Bool = false, needsPost: Bool = false
  ) {
    (self.path, self.shape, self.function) = (path, shape, function)
    (self.arguments, self.groups, self.showsAlarms) = (arguments, groups, showsAlarms)
    self.needsPost = needsPost
    // The page is an aggregate without GROUP BY: one row, or none if HAVING is false.
    sql =
      shape.sql(function, arguments: arguments.count)
      + (needsPost ? "\nHAVING EXISTS (SELECT FROM post($1, $2))" : "")
  }
}

extension Screen.Shape {
  fileprivate func sql(_ function: String, arguments: Int) -> String {
    switch self {
    case .value: return "SELECT (\(function))::text"
    case .row: return "SELECT row_to_json(r)::text FROM \(call(function, arguments)) r"
    case .page:
      // Plus a cursor and a limit.
      let count = arguments + 2
      return """
        SELECT '{"items":' || coalesce(json_agg(r)::text, '[]') || ',"next":' || coalesce(
          CASE WHEN count(*) = $\(count) THEN to_json((array_agg(r.cursor))[$\(count)])::text END,
          'null') || '}'
        FROM \(call(function, count)) r
        """
    }
  }

  private func call(_ function: String, _ count: Int) -> String {
    "\(function)(\((1...count).map { "$\($0)" }.joined(separator: ", ")))"
  }
}

extension Screen {
  private static let posts: Set<ConsumerGroup> = [.fanout, .notification, .alarm]

  static let all: [Screen] = [
    Screen(
      path: "/v1/home", shape: .page, function: "home_page", arguments: [.viewer], groups: posts),
    Screen(
      path: "/v1/following", shape: .page, function: "feed_page", arguments: [.viewer],
      groups: posts),
    Screen(
      path: "/v1/posts/{post}", shape: .row, function: "post", arguments: [.viewer, .id("post")],
      groups: posts),
    Screen(
      path: "/v1/posts/{post}/comments", shape: .page, function: "comment_page",
      arguments: [.viewer, .id("post")], groups: posts, needsPost: true),
    Screen(
      path: "/v1/posts/{post}/likers", shape: .page, function: "likers_page",
      arguments: [.viewer, .id("post")], groups: posts, needsPost: true),
    Screen(
      path: "/v1/profiles/{user}", shape: .row, function: "profile",
      arguments: [.viewer, .id("user")], groups: [.fanout, .notification, .alarm, .reminder]),
    Screen(
      path: "/v1/profiles/{user}/posts", shape: .page, function: "user_posts_page",
      arguments: [.viewer, .id("user")], groups: posts),
    Screen(
      path: "/v1/profiles/{user}/followers", shape: .page, function: "followers_page",
      arguments: [.viewer, .id("user")], groups: posts),
    Screen(
      path: "/v1/profiles/{user}/following", shape: .page, function: "following_page",
      arguments: [.viewer, .id("user")], groups: posts),
    Screen(
      path: "/v1/search", shape: .page, function: "search_users",
      arguments: [.query("q"), .viewer], groups: posts),
    Screen(
      path: "/v1/alarms", shape: .page, function: "alarm_page", arguments: [.viewer],
      groups: posts, showsAlarms: true),
    Screen(
      path: "/v1/alarms/{alarm}/people", shape: .page, function: "alarm_people",
      arguments: [.viewer, .uuid("alarm")], groups: posts),
    Screen(
      path: "/v1/badge", shape: .value,
      function: """
        json_build_object(
          'badge', badge($1), 'has_unseen', has_unseen($1), 'unread', unread_count($1))
        """,
      arguments: [.viewer], groups: [.notification, .alarm], showsAlarms: true),
    Screen(
      path: "/v1/conversations", shape: .page, function: "conversation_list",
      arguments: [.viewer], groups: posts),
    Screen(
      path: "/v1/conversations/{user}", shape: .page, function: "conversation_page",
      arguments: [.viewer, .id("user")], groups: posts),
    Screen(
      path: "/v1/reminders", shape: .page, function: "reminder_page", arguments: [.viewer],
      groups: [.reminder]),
    Screen(
      path: "/v1/reminder-history", shape: .page, function: "reminder_history",
      arguments: [.viewer], groups: [.reminder]),
    Screen(
      path: "/v1/settings", shape: .value,
      function: """
        json_build_object(
          'locale', (SELECT p.locale FROM profile($1, $1) p),
          'zone', (SELECT p.zone FROM profile($1, $1) p),
          'mutes', (
            SELECT coalesce(json_agg(m ORDER BY m.scope, m.kind, m.value), '[]') FROM mutes($1) m),
          'digest', (SELECT row_to_json(d) FROM digest_setting($1) d))
        """,
      arguments: [.viewer], groups: [.notification, .alarm, .reminder]),
  ]

  /// The names of the query's parameters.
  var queryParameters: [String] {
    arguments.compactMap { if case .query(let name) = $0 { name } else { nil } }
      + (shape == .page ? ["cursor", "limit"] : [])
  }

  /// The statement for one request. Its only column is the response body. There is no row, or NULL,
  /// if there is nothing to show.
  ///
  /// - Throws: ``Problem`` for a parameter that is unknown or invalid.
  func statement(
    viewer: String, path: [String: String], query: [String: String]
  ) throws(Problem) -> Statement {
    if let unknown = query.keys.sorted().first(where: { !queryParameters.contains($0) }) {
      throw Problem(
        .invalidParameter,
        "The resource does not have this parameter; it has: "
          + "\(queryParameters.isEmpty ? "none" : queryParameters.joined(separator: ", ")).",
        field: unknown)
    }
    var parameters: [Parameter] = []
    for argument in arguments {
      switch argument {
      case .viewer: parameters.append(.text(viewer))
      case .id(let name): parameters.append(.text(try identifier(path[name] ?? "", name)))
      case .uuid(let name): parameters.append(.uuid(try uuid(path[name] ?? "", name)))
      case .query(let name):
        parameters.append(.text(try text(query[name] ?? "", name, GatewayLimits.queryBytes)))
      }
    }
    if shape == .page {
      let limit = try rows(query["limit"])
      let cursor = try query["cursor"].map { value throws(Problem) in
        try text(value, "cursor", GatewayLimits.cursorBytes)
      }
      parameters += [.text(cursor), .int4(limit)]
    }
    return Statement(sql, parameters)
  }

  /// Parses the parameter `limit`.
  func rows(_ text: String?) throws(Problem) -> Int32 {
    guard let text else { return Int32(GatewayLimits.defaultPageRows) }
    guard let number = digits(text).flatMap(Int32.init(exactly:)),
      1...Int32(GatewayLimits.pageRows) ~= number
    else {
      throw Problem(
        .invalidParameter, "It must be a number from 1 to \(GatewayLimits.pageRows).",
        field: "limit")
    }
    return number
  }
}

private func text(_ value: String, _ name: String, _ limitBytes: Int) throws(Problem) -> String {
  guard value.utf8.count <= limitBytes else {
    throw Problem(.invalidParameter, "It is longer than \(limitBytes) bytes.", field: name)
  }
  return value
}
