import Crypto
import Events
import Foundation
import Hummingbird
import Lanes
import Logging
import NIOCore
import Postgres
import Synchronization

/// Screens as server-sent events. Each event holds a whole screen, as of the latest commit.
///
/// An event's `id` lists tags of the screen states that the client then has. So a client that
/// reconnects with `Last-Event-ID` gets exactly the screens that have changed since, from any
/// gateway.
struct LiveStream: Sendable {
  /// The screens that every stream sends, in this order.
  static let screens: [(name: String, kind: StreamScreens, screen: Screen)] = [
    ("badge", StreamScreens.alarms), ("alarms", .alarms), ("conversations", .conversations),
  ].compactMap { name, kind in
    Screen.all.first { $0.path == "/v1/\(name)" }.map { (name, kind, $0) }
  }

  /// An event that clients ignore.
  static let comment = ByteBuffer(string: ":\n\n")

  /// A screen that the stream sends.
  private struct Part {
    /// The screen's name in an event's id.
    var name: String
    var kind: StreamScreens
    /// The path of a watched screen; nil for the others.
    var path: String?
    /// The screen's path without ids, for the log.
    var template: String
    var statement: Statement
    /// When the part is read again, after PostgreSQL refused it.
    var resting: ContinuousClock.Instant?
  }

  let reader: Reader
  let hints: Hints
  /// Limits how many streams read at the same time, so that requests find a free connection.
  let turns: Turns
  let person: String
  /// The screens in the request's `watch` parameter.
  let watched: [Watched]
  let metrics: Metrics
  let logger: Logger
  /// Limits how often all streams together log a failed look.
  let complaints: Complaints

  /// Parses the tags in a `Last-Event-ID`. Malformed parts are ignored, so their screens are sent.
  static func tags(_ lastEventID: String?) -> [String: String] {
    var tags: [String: String] = [:]
    let text = (lastEventID ?? "").prefix(GatewayLimits.lastEventIDBytes)
    for pair in text.split(separator: ",") {
      let halves = pair.split(separator: "=", maxSplits: 1)
      if halves.count == 2 { tags[String(halves[0])] = String(halves[1]) }
    }
    return tags
  }

  /// Reads the watched screens that have a cursor, so that a wrong one is refused before the
  /// response begins.
  ///
  /// - Throws: ``Problem`` if PostgreSQL refuses a cursor. Other failures are left to the stream,
  ///   which tries again.
  func checkCursors() async throws(Problem) {
    let paged = watched.enumerated().filter(\.element.hasCursor)
    guard !paged.isEmpty else { return }
    do {
      _ = try await turns.run(of: person) {
        try await reader.bodies(paged.map(\.element.statement), of: person)
      }
    } catch let error as PostgresError {
      let problem = Problem(error)
      guard problem.code == .invalidParameter, let index = error.statementIndex,
        paged.indices.contains(index)
      else { return }
      throw Problem(
        .invalidParameter, "Path \(paged[index].offset + 1): \(problem.detail)", field: "watch")
    } catch {}
  }

  /// Writes events until the subscription's wakes end.
  ///
  /// - Parameters:
  ///   - subscription: the stream's subscription to hints.
  ///   - lastEventID: the request's `Last-Event-ID`.
  ///   - write: sends events; throws if the client does not accept it.
  func run(
    _ subscription: Hints.Subscription, lastEventID: String?,
    write: (ByteBuffer) async throws -> Void
  ) async throws {
    var tags = Self.tags(lastEventID)
    // A random delay, so that clients do not all reconnect at the same time.
    try await write(ByteBuffer(string: "retry: \(Int.random(in: 500...3000))\n\n"))
    var parts = try parts()
    var posts = Set(watched.compactMap(\.post).map { BytewiseString($0) })
    hints.watch(Set(watched.compactMap(\.subject)), subscription)
    hints.lookAgain(subscription)
    for await _ in subscription.wakes {
      var events = ByteBuffer()
      if hints.hasLook(subscription) {
        var screens: StreamScreens = []
        do {
          // Subscribe before looking: a change in between then gives a hint.
          try await watchAuthors(of: &posts, subscription)
          events = try await turns.run(of: person) {
            // Only when the turn has come: hints that arrive while the stream waits for it need no
            // look of their own.
            screens = hints.takeLook(subscription)
            var rest = GatewayLimits.restMax
            defer {
              if screens.contains(.watched), !watched.isEmpty {
                hints.rest(subscription, .watched, for: rest)
              }
            }
            let start = ContinuousClock.now
            let events = try await changes(of: &parts, at: screens, &tags)
            rest = min(rest, (.now - start) * GatewayLimits.restPerLook)
            return events
          }
        } catch {
          complain("a stream could not look at its screens; it tries again", error)
          hints.missed(subscription, screens)
        }
      }
      if events.readableBytes == 0, hints.takeComment(subscription) { events = Self.comment }
      if events.readableBytes > 0 { try await write(events) }
    }
  }

  /// Subscribes to the authors of `posts`, and removes the posts whose authors are known. The
  /// others remain, because a post may not have been applied yet.
  private func watchAuthors(
    of posts: inout Set<BytewiseString>, _ subscription: Hints.Subscription
  ) async throws {
    guard !posts.isEmpty else { return }
    let unknown = posts.map(\.string)
    let authors = try await turns.run(of: person) {
      try await reader.authors(of: unknown, viewer: person)
    }
    hints.watch(Set(authors.map { .author($0.author) }), subscription)
    posts.subtract(authors.map { BytewiseString($0.post) })
  }

  /// The screens that the stream sends.
  private func parts() throws -> [Part] {
    try Self.screens.map { name, kind, screen in
      Part(
        name: name, kind: kind, template: screen.path,
        statement: try screen.statement(viewer: person, path: [:], query: [:]))
    }
      + watched.map {
        Part(
          name: $0.name, kind: .watched, path: $0.path, template: $0.template,
          statement: $0.statement)
      }
  }

  /// The events of the parts in `screens` whose tags differ from `tags`, all from one snapshot.
  private func changes(
    of parts: inout [Part], at screens: StreamScreens, _ tags: inout [String: String]
  ) async throws -> ByteBuffer {
    var events = ByteBuffer()
    for (part, body) in try await bodies(of: &parts, at: screens) {
      let body = body ?? "null"
      let tag = base64URLEncoded(SHA256.hash(data: Data(body.utf8)).prefix(12))
      guard tags.updateValue(tag, forKey: part.name) != tag else { continue }
      let id = parts.compactMap { part in tags[part.name].map { "\(part.name)=\($0)" } }
      // Line feeds occur only between JSON tokens. Replaced byte by byte, because a search by
      // characters takes a millisecond.
      let line = String(decoding: body.utf8.map { $0 == 0x0A ? 0x20 : $0 }, as: UTF8.self)
      let data = part.path.map { #"{"path":\#(jsonText($0)),"screen":\#(line)}"# } ?? line
      metrics.increment(.streamEvents)
      events.writeString("event: \(part.path == nil ? part.name : "watched")\n")
      events.writeString("id: \(id.joined(separator: ","))\ndata: \(data)\n\n")
    }
    return events
  }

  /// Reads the parts in `screens` from one snapshot. A watched screen that PostgreSQL refuses, such
  /// as a search that takes too long, is left out for a while: it must not silence the others.
  private func bodies(
    of parts: inout [Part], at screens: StreamScreens
  ) async throws -> [(Part, String?)] {
    var timeouts = 0
    while true {
      let looked = parts.indices.filter { index in
        screens.contains(parts[index].kind) && parts[index].resting.map { $0 <= .now } ?? true
      }
      guard !looked.isEmpty else { return [] }
      do {
        let bodies = try await reader.bodies(looked.map { parts[$0].statement }, of: person)
        return Array(zip(looked.map { parts[$0] }, bodies))
      } catch let error as PostgresError {
        guard let index = error.statementIndex, looked.indices.contains(index), error.isRefusal,
          parts[looked[index]].kind == .watched
        else { throw error }
        parts[looked[index]].resting = .now + .seconds(GatewayLimits.refusedScreenSeconds)
        complain(
          "a stream leaves out a watched screen that PostgreSQL refuses", error,
          screen: parts[looked[index]].template)
        // Each timeout keeps a connection busy for seconds: the next look goes on.
        if error.isStatementTimeout { timeouts += 1 }
        if timeouts > 1 { throw error }
      }
    }
  }

  private func complain(_ message: Logger.Message, _ error: any Error, screen: String? = nil) {
    guard !(error is CancellationError), let unsaid = complaints.next() else { return }
    var metadata: Logger.Metadata = ["error": "\(error)", "unlogged": "\(unsaid)"]
    if let screen { metadata["screen"] = "\(screen)" }
    logger.warning(message, metadata: metadata)
  }
}

extension PostgresError {
  /// Whether the same statement would fail again, although the server works.
  fileprivate var isRefusal: Bool {
    isStatementTimeout || code == .server && sqlstate?.hasPrefix("22") == true
  }
}

/// Says which of many similar failures to log: at most one in
/// ``GatewayLimits/complaintSeconds``. Thread-safe.
final class Complaints: Sendable {
  private let state = Mutex((next: ContinuousClock.now, unsaid: 0))

  /// - Returns: the number of failures that were not logged before this one; nil if this one is not
  ///   to be logged either.
  func next() -> Int? {
    state.withLock { state in
      guard .now >= state.next else {
        state.unsaid += 1
        return nil
      }
      defer { state = (.now + .seconds(GatewayLimits.complaintSeconds), 0) }
      return state.unsaid
    }
  }
}
