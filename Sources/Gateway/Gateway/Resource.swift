import HTTPTypes

/// The resource at a path: a file of the pages, or the routes with this path.
struct Resource: Sendable {
  private let file: PageFile?
  private let routes: [(route: Route, parameters: [String: String])]

  /// The target of a request with a certain method.
  enum Found: Sendable {
    case file(PageFile)
    case route(Route, parameters: [String: String])
  }

  /// - Throws: ``Problem`` if there is no resource at the path.
  init(_ path: [String]) throws(Problem) {
    file = Pages.file(path)
    routes = file == nil ? Route.at(path) : []
    guard file != nil || !routes.isEmpty else {
      throw Problem(.notFound, "/openapi.yaml has no such path.")
    }
  }

  /// The methods, sorted by name. GET implies HEAD, except for the stream.
  var methods: [HTTPRequest.Method] {
    var methods: Set<HTTPRequest.Method> = [.options]
    if file != nil { methods.formUnion([.get, .head]) }
    for (route, _) in routes {
      methods.insert(route.method)
      if route.hasHead { methods.insert(.head) }
    }
    return methods.sorted { $0.rawValue < $1.rawValue }
  }

  /// `Allow`: the methods, separated by commas.
  var allow: String { methods.map(\.rawValue).joined(separator: ", ") }

  /// - Throws: ``Problem`` if the resource does not support the method.
  func found(_ method: HTTPRequest.Method) throws(Problem) -> Found {
    let isRead = method == .get || method == .head
    if let file, isRead { return .file(file) }
    let found = routes.first { route, _ in
      route.method == method || method == .head && route.hasHead
    }
    guard let found else {
      throw Problem(
        .methodNotAllowed, "The header Allow lists the methods.", allowed: methods)
    }
    return .route(found.route, parameters: found.parameters)
  }
}

extension Route {
  /// A stream is endless, so it has no length that HEAD could report.
  fileprivate var hasHead: Bool {
    if case .stream = endpoint { return false }
    return method == .get
  }

  /// The routes that match this path, with the values of its parameters.
  static func at(
    _ path: [String]
  ) -> [(route: Route, parameters: [String: String])] {
    let candidates = all.compactMap { route in
      route.path.match(path).map { (route: route, parameters: $0) }
    }
    // A literal path takes precedence over templates that match it: /v1/alarms/seen is not an
    // alarm.
    let fewest = candidates.map(\.parameters.count).min()
    return candidates.filter { $0.parameters.count == fewest }
  }
}
