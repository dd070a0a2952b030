import Crypto
import Events
import Foundation
import Hummingbird
import Postgres

/// A person's screens as server-sent events: each event is a whole screen as it is committed now.
///
/// `id` names the states that the client then has, as tags. So a client that comes back with
/// `Last-Event-ID` gets exactly the screens that are others since, from any gateway.
struct LiveStream: Sendable {
  /// The screens of a stream, in the order in which they are sent.
  static let screens: [(name: String, screen: Screen)] = ["badge", "alarms", "conversations"]
    .compactMap { name in Screen.all.first { $0.path == "/v1/\(name)" }.map { (name, $0) } }

  let reader: Reader
  let hints: Hints
  let person: String
  /// When the token ends, in seconds since 1970, and the stream with it.
  let expires: Double

  /// The tags in a `Last-Event-ID`; what is not one is ignored, so its screen is sent.
  static func tags(_ lastEventID: String?) -> [String: String] {
    var tags: [String: String] = [:]
    for pair in (lastEventID ?? "").prefix(512).split(separator: ",") {
      let halves = pair.split(separator: "=", maxSplits: 1)
      if halves.count == 2 { tags[String(halves[0])] = String(halves[1]) }
    }
    return tags
  }

  /// Writes until the token expires, the gateway stops, or the client is gone.
  ///
  /// - Parameters:
  ///   - lastEventID: of the request.
  ///   - write: sends text, or throws if the client does not take it.
  func run(lastEventID: String?, write: (String) async throws -> Void) async throws {
    var tags = Self.tags(lastEventID)
    let subscription = hints.subscribe(person)
    let end = Task { [expires] in
      try? await Task.sleep(for: .seconds(max(0, expires - Date().timeIntervalSince1970)))
      hints.unsubscribe(subscription)
    }
    defer {
      end.cancel()
      hints.unsubscribe(subscription)
    }
    // Clients come back at different times.
    try await write("retry: \(Int.random(in: 500...3000))\n\n")
    for await _ in subscription.wakes {
      var text = ""
      if hints.takeLook(subscription) {
        // Without the database, the next look sends what this one could not read.
        text = (try? await changes(&tags)) ?? ""
      }
      try await write(text.isEmpty ? ":\n\n" : text)
    }
  }

  /// The events of the screens that differ from `tags`, all of one snapshot.
  private func changes(_ tags: inout [String: String]) async throws -> String {
    let statements = try Self.screens.map { screen in
      try screen.screen.statement(viewer: person, path: [:], query: [:])
    }
    let bodies = try await reader.bodies(statements)
    var text = ""
    for (screen, body) in zip(Self.screens, bodies) {
      let tag = base64URLEncoded(SHA256.hash(data: Data(body.utf8)).prefix(12))
      guard tags.updateValue(tag, forKey: screen.name) != tag else { continue }
      let id = Self.screens.compactMap { screen in
        tags[screen.name].map { "\(screen.name)=\($0)" }
      }
      // Line feeds in JSON are between its tokens only.
      text += "event: \(screen.name)\nid: \(id.joined(separator: ","))\n"
      text += "data: \(body.replacing("\n", with: " "))\n\n"
    }
    return text
  }
}
