import Crypto
import Events
import Foundation
import Postgres

/// A screen that a stream's client watches, besides those that every stream sends.
struct Watched: Sendable {
  /// As the client wrote it, such as `/v1/posts/p1/comments?limit=20`.
  let path: String
  /// The path without the client's ids, for the log.
  let template: String
  /// The screen's name in an event's id.
  let name: String
  let statement: Statement
  /// The subject whose changes change the screen, if it is neither the viewer nor the author of
  /// ``post``.
  let subject: Subject?
  /// The id of the post whose author's changes change the screen.
  let post: String?
  /// The maximum number of rows of the screen.
  let rows: Int
  /// Whether the path has a cursor, which only PostgreSQL can check.
  let hasCursor: Bool

  /// Parses the parameter `watch`: paths of this API, separated by commas. A comma in a path is
  /// written as `%2C`.
  ///
  /// - Throws: ``Problem`` if there are too many paths, or if one is not a screen.
  static func all(in text: String, viewer: String) throws(Problem) -> [Watched] {
    let paths = text.split(separator: ",").map { BytewiseString(String($0)) }
    guard paths.count <= GatewayLimits.watched, Set(paths).count == paths.count else {
      throw Problem(
        .invalidParameter, "It has at most \(GatewayLimits.watched) paths, each once.",
        field: "watch")
    }
    var watched: [Watched] = []
    for (index, path) in paths.enumerated() {
      do throws(Problem) {
        watched.append(try Watched(path.string, viewer: viewer))
      } catch {
        throw Problem(.invalidParameter, "Path \(index + 1): \(error.detail)", field: "watch")
      }
    }
    let rows = watched.reduce(0) { $0 + $1.rows }
    guard rows <= GatewayLimits.watchedRows else {
      throw Problem(
        .invalidParameter,
        "The screens have up to \(rows) rows; watch at most \(GatewayLimits.watchedRows), by limit.",
        field: "watch")
    }
    return watched
  }

  private init(_ text: String, viewer: String) throws(Problem) {
    let target = try RequestTarget(text)
    guard case .route(let route, let path) = try Resource(target.segments).found(.get),
      case .screen(let screen) = route.endpoint
    else { throw Problem(.notFound, "It is no screen.") }
    self.path = text
    template = screen.path
    name = base64URLEncoded(SHA256.hash(data: Data(text.utf8)).prefix(6))
    statement = try screen.statement(viewer: viewer, path: path, query: target.query)
    rows = screen.shape == .page ? Int(try screen.rows(target.query["limit"])) : 1
    hasCursor = target.query["cursor"] != nil
    post = path["post"]
    subject =
      if screen.path.hasPrefix("/v1/profiles/"), let user = path["user"] {
        .author(user)
      } else if ["home_page", "feed_page"].contains(screen.function) {
        .posts
      } else {
        nil
      }
  }
}
