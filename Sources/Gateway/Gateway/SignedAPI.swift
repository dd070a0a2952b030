/// An authenticated request.
package struct SignedRequest: Sendable {
  /// The token's `sub`.
  package let person: String
  /// The values of the parameters in the route's path.
  package let parameters: [String: String]
  package let query: [String: String]
  /// Empty, or JSON of at most 384 KiB.
  package let body: [UInt8]
}

/// One method of one path of a ``SignedAPI``.
package struct SignedRoute: Sendable {
  package enum Method: Sendable { case get, post }

  let method: Method
  let path: PathTemplate
  let answer: @Sendable (SignedRequest) async throws -> String

  /// - Parameters:
  ///   - path: such as `/v1/dead-letters/{id}`.
  ///   - answer: returns JSON. May throw ``Problem``; other errors are mapped as in the gateway.
  package init(
    _ method: Method, _ path: String,
    _ answer: @escaping @Sendable (SignedRequest) async throws -> String
  ) {
    (self.method, self.path, self.answer) = (method, PathTemplate(path), answer)
  }
}

/// An API other than the gateway's that uses the same ``Edge``: public files, and routes that
/// require a token.
package struct SignedAPI: Sendable {
  /// By path, such as `/pages/main.js`.
  let files: [String: PageFile]
  /// The paths of pages, which all serve the file at `/`.
  let pages: [PathTemplate]
  let routes: [SignedRoute]

  package init(files: [String: PageFile], pages: [String], routes: [SignedRoute]) {
    (self.files, self.routes) = (files, routes)
    self.pages = pages.map { PathTemplate($0) }
  }

  func file(_ path: [String]) -> PageFile? {
    let isPage = pages.contains { $0.match(path) != nil }
    return files[isPage ? "/" : "/" + path.joined(separator: "/")]
  }
}
