import HTTPTypes

/// Which pages of other origins may call the API from a browser: CORS, as the Fetch standard defines it.
///
/// Tokens are in a header, never in a cookie: so credentials are never allowed, and a page that is not
/// listed has nothing to send in somebody's name.
struct CrossOrigin: Sendable {
  /// The headers of requests that the API reads.
  static let requestHeaders: [HTTPField.Name] = [
    .authorization, .contentType, .idempotencyKey, .ifNoneMatch, .lastEventID, .magpieAfter,
    .magpieTime, .traceparent,
  ]
  /// The headers of answers that a page may read.
  static let exposedHeaders: [HTTPField.Name] = [.eTag, .location, .magpiePosition, .retryAfter]
  /// How long a browser may remember what a path allows, in seconds.
  static let maxAgeSeconds = 3600

  private let origins: Set<String>

  /// - Parameter list: origins as browsers send them, such as `https://app.example`, separated by commas;
  ///   nil for none.
  /// - Throws: ``OriginError`` for `*`, `null` and whatever else is not an exact origin.
  init(_ list: String?) throws(OriginError) {
    var origins: Set<String> = []
    for item in (list ?? "").split(separator: ",") {
      let origin = item.filter { $0 != " " }
      guard isOrigin(origin) else { throw OriginError(origin: origin) }
      origins.insert(origin)
    }
    self.origins = origins
  }

  /// Adds what lets the page read the answer, if its origin is listed.
  ///
  /// - Parameter preflight: the methods of the path, if the answer is to `OPTIONS`.
  func allow(
    _ answer: inout HTTPFields, to request: HTTPFields, preflight: [HTTPRequest.Method]? = nil
  ) {
    guard !origins.isEmpty else { return }
    answer.vary(on: "Origin")
    guard let origin = request[.origin], origins.contains(origin) else { return }
    answer[.accessControlAllowOrigin] = origin
    guard let methods = preflight, request[.accessControlRequestMethod] != nil else {
      answer[.accessControlExposeHeaders] = Self.list(Self.exposedHeaders)
      return
    }
    answer[.accessControlAllowMethods] = methods.map(\.rawValue).joined(separator: ", ")
    answer[.accessControlAllowHeaders] = Self.list(Self.requestHeaders)
    answer[.accessControlMaxAge] = "\(Self.maxAgeSeconds)"
  }

  private static func list(_ names: [HTTPField.Name]) -> String {
    names.map(\.rawName).joined(separator: ", ")
  }
}

/// An entry of the list is not an origin.
struct OriginError: Error, CustomStringConvertible {
  var origin: String

  var description: String {
    "\"\(origin)\" is not an origin: a scheme, a host in lower case and a port unless it is the default, "
      + "such as https://app.example"
  }
}

/// Whether a browser could send it as `Origin`. It compares bytes, so another spelling never matches.
private func isOrigin(_ text: String) -> Bool {
  guard text.utf8.count <= 255,
    let match = text.wholeMatch(
      of: /([a-z][a-z0-9+.\-]*):\/\/([a-z0-9.\-_]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?/)
  else { return false }
  switch (match.1, match.3) {
  case ("https", ":443"), ("http", ":80"): return false
  default: return true
  }
}

extension HTTPFields {
  /// Adds a header's name to `Vary`.
  mutating func vary(on name: String) {
    self[.vary] = self[.vary].map { "\($0), \(name)" } ?? name
  }
}
