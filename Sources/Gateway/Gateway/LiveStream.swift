import Crypto
import Events
import Foundation
import Hummingbird
import Lanes
import Postgres

/// Screens as server-sent events: each event is a whole screen as it is committed now.
///
/// `id` names the states that the client then has, as tags. So a client that comes back with
/// `Last-Event-ID` gets exactly the screens that are others since, from any gateway.
struct LiveStream: Sendable {
  /// The screens of every stream, in the order in which they are sent.
  static let screens: [(name: String, screen: Screen)] = ["badge", "alarms", "conversations"]
    .compactMap { name in Screen.all.first { $0.path == "/v1/\(name)" }.map { (name, $0) } }

  let reader: Reader
  let hints: Hints
  /// Streams that read at the same time, so that requests find a connection.
  let turns: Turns
  let person: String
  /// What else the client looks at.
  let watched: [Watched]
  let metrics: Metrics
  /// When the token ends, in seconds since 1970, and the stream with it.
  let expires: Double

  /// The tags in a `Last-Event-ID`; what is not one is ignored, so its screen is sent.
  static func tags(_ lastEventID: String?) -> [String: String] {
    var tags: [String: String] = [:]
    let text = (lastEventID ?? "").prefix(GatewayLimits.lastEventIDBytes)
    for pair in text.split(separator: ",") {
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
    var posts = Set(watched.compactMap(\.post))
    hints.watch(Set(watched.compactMap(\.subject)), subscription)
    for await _ in subscription.wakes {
      var text = ""
      if hints.takeLook(subscription) {
        do {
          // Before the look: what changes in between is hinted.
          try await watchAuthors(of: &posts, subscription)
          text = try await turns.run { try await changes(&tags) }
        } catch {
          hints.missed(subscription)
        }
      }
      try await write(text.isEmpty ? ":\n\n" : text)
    }
  }

  /// Takes those out of `posts` whose authors are known: a post may not be there yet.
  private func watchAuthors(
    of posts: inout Set<String>, _ subscription: Hints.Subscription
  ) async throws {
    for post in posts {
      do {
        let author = try await turns.run {
          try await reader.author(of: post, viewer: person, after: [])
        }
        hints.watch([.author(author)], subscription)
        posts.remove(post)
      } catch let problem as Problem where problem.code == .notFound {
        continue
      }
    }
  }

  /// The events of the screens that differ from `tags`, all of one snapshot.
  private func changes(_ tags: inout [String: String]) async throws -> String {
    let own = try Self.screens.map { screen in
      try screen.screen.statement(viewer: person, path: [:], query: [:])
    }
    let bodies = try await reader.bodies(own + watched.map(\.statement))
    let names = Self.screens.map(\.name) + watched.map(\.name)
    var text = ""
    for (index, (name, body)) in zip(names, bodies).enumerated() {
      let body = body ?? "null"
      let tag = base64URLEncoded(SHA256.hash(data: Data(body.utf8)).prefix(12))
      guard tags.updateValue(tag, forKey: name) != tag else { continue }
      let id = names.compactMap { name in tags[name].map { "\(name)=\($0)" } }
      // Line feeds in JSON are between its tokens only.
      let line = body.replacing("\n", with: " ")
      let event = index < own.count ? name : "watched"
      let data =
        index < own.count
        ? line
        : #"{"path":\#(jsonText(watched[index - own.count].path)),"screen":\#(line)}"#
      metrics.increment(.streamEvents)
      text += "event: \(event)\nid: \(id.joined(separator: ","))\ndata: \(data)\n\n"
    }
    return text
  }
}

extension Watched {
  fileprivate var subject: Subject? {
    if case .subject(let subject) = source { subject } else { nil }
  }
  fileprivate var post: String? { if case .authorOfPost(let post) = source { post } else { nil } }
}
