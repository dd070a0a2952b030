import EmbeddedStack
import Postgres

/// Compares what the gateway says, on streams and when it is asked, with the page functions.
struct GatewayCheck {
  let world: World
  let gateway: GatewayProcess
  let streams: [StreamReader]

  /// A stream's event, the path of the same screen, and the beginning of what both are.
  private static let screens: [(event: String?, path: String, sql: String)] = [
    (
      "badge", "/v1/badge",
      """
      SELECT json_build_object(
        'badge', badge($1), 'has_unseen', has_unseen($1), 'unread', unread_count($1))::text
      """
    ),
    ("alarms", "/v1/alarms", page("alarm_page")),
    ("conversations", "/v1/conversations", page("conversation_list")),
    (nil, "/v1/following", page("feed_page")),
  ]

  private static func page(_ function: String) -> String {
    """
    SELECT '{"items":' || coalesce(json_agg(r)::text, '[]') || ',"next":'
    FROM \(function)($1, NULL, 50) r
    """
  }

  /// - Parameter seconds: how long a stream may take to catch up. Without a hint, it looks once a minute.
  func findings(within seconds: Double) -> [Finding] {
    var differences: [String] = []
    do {
      try world.wait(seconds: seconds, "the gateway says what the page functions return") {
        differences = try self.differences()
        return differences.isEmpty
      }
      return []
    } catch {
      return [Finding(check: .gateway, text: "\(error): \(differences.prefix(3))")]
    }
  }

  private func differences() throws -> [String] {
    guard let port = gateway.port else { throw CampaignError("the gateway does not serve") }
    let connection = try world.connection()
    defer { connection.close() }
    var differences: [String] = []
    for stream in streams {
      for (event, path, sql) in Self.screens {
        let expected = try connection.query(sql, [.text(stream.person)]).only.text(0)
          .replacing("\n", with: " ")
        let answer = LocalHTTP.get(
          path, port: port, timeoutSeconds: 10, bytesMax: 16 << 20,
          token: gateway.tokens[stream.person])
        var found = [(path, answer?.body.replacing("\n", with: " "))]
        if let event { found.append((event, stream.screens[event])) }
        for (name, text) in found where text?.hasPrefix(expected) != true {
          differences.append("\(stream.person), \(name): \(text ?? "nothing"), not: \(expected)")
        }
      }
    }
    return differences
  }
}
