import HTTPTypes

/// A path such as `/v1/posts/{post}/comments`.
struct PathTemplate: Sendable {
  let text: String
  private let segments: [Segment]

  private enum Segment: Sendable {
    case literal(String)
    case parameter(String)
  }

  init(_ text: String) {
    self.text = text
    segments = text.dropFirst().split(separator: "/").map { segment in
      segment.hasPrefix("{")
        ? .parameter(String(segment.dropFirst().dropLast())) : .literal(String(segment))
    }
  }

  /// The names of the parameters in braces, in order.
  var parameters: [String] {
    segments.compactMap { if case .parameter(let name) = $0 { name } else { nil } }
  }

  /// The values of the parameters; nil if the path does not match.
  func match(_ path: [String]) -> [String: String]? {
    guard path.count == segments.count else { return nil }
    var values: [String: String] = [:]
    for (segment, value) in zip(segments, path) {
      switch segment {
      case .literal(let literal): guard literal == value else { return nil }
      case .parameter(let name): values[name] = value
      }
    }
    return values
  }
}

/// One method of one path.
struct Route: Sendable {
  enum Endpoint: Sendable {
    case screen(Screen)
    case action(Action)
    /// Server-sent events with the person's screens.
    case stream
    /// A public text.
    case text(contentType: String, String)
  }

  let method: HTTPRequest.Method
  let path: PathTemplate
  let endpoint: Endpoint

  /// All routes of the gateway, except the pages.
  static let all: [Route] =
    Screen.all.map { Route(method: .get, path: PathTemplate($0.path), endpoint: .screen($0)) }
    + Action.all.map {
      Route(method: $0.method, path: PathTemplate($0.path), endpoint: .action($0))
    } + [
      Route(method: .get, path: PathTemplate("/v1/stream"), endpoint: .stream),
      Route(
        method: .get, path: PathTemplate("/openapi.yaml"),
        endpoint: .text(
          contentType: "application/yaml",
          String(decoding: openAPIDocument, as: UTF8.self))),
      Route(
        method: .get, path: PathTemplate(Problem.path),
        endpoint: .text(contentType: "text/plain; charset=utf-8", Problem.list)),
    ]
}

extension Problem {
  /// One line for each kind of problem.
  fileprivate static var list: String {
    Code.allCases.map { "\($0.rawValue): \($0.status.code) \($0.title)\n" }.joined()
  }
}

/// openapi.yaml, the API's contract. A test compares it with ``Route/all``.
let openAPIDocument = PackageResources.openapi_yaml
