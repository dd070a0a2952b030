import HTTPTypes

/// The origins whose pages may call the API from a browser: CORS, as the Fetch standard defines it.
///
/// Tokens travel in a header, never in a cookie. So credentials are never allowed, and a page of an
/// unlisted origin has nothing with which to act on a person's behalf.
struct CrossOrigin: Sendable {
  /// The request headers that the API reads.
  static let requestHeaders: [HTTPField.Name] = [
    .authorization, .contentType, .idempotencyKey, .ifNoneMatch, .lastEventID, .magpieAfter,
    .magpieTime, .traceparent,
  ]
  /// The response headers that a page may read.
  static let exposedHeaders: [HTTPField.Name] = [.eTag, .location, .magpiePosition, .retryAfter]
  /// How long a browser may cache a preflight response, in seconds.
  static let maxAgeSeconds = 3600

  private let origins: Set<String>

  /// - Parameter list: origins as browsers send them, such as `https://app.example`, separated by commas;
  ///   nil for none.
  /// - Throws: ``OriginError`` for `*`, `null` and anything else that is not an exact origin.
  init(_ list: String?) throws(OriginError) {
    var origins: Set<String> = []
    for item in (list ?? "").split(separator: ",") {
      let origin = item.filter { $0 != " " }
      guard isOrigin(origin) else { throw OriginError(origin: origin) }
      origins.insert(origin)
    }
    self.origins = origins
  }

  /// Adds the headers that let the page read the response, if its origin is listed.
  ///
  /// - Parameter preflight: the path's methods if this is a response to `OPTIONS`; otherwise nil.
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

/// An entry of the list that is not an origin.
struct OriginError: Error, CustomStringConvertible {
  var origin: String

  var description: String {
    "\"\(origin)\" is not an origin: a scheme, a host in lower case and a port unless it is the default, "
      + "such as https://app.example"
  }
}

/// Whether a browser could send this text as `Origin`. Origins are compared byte by byte, so any
/// other spelling would never match.
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
  /// Appends a header's name to `Vary`.
  mutating func vary(on name: String) {
    self[.vary] = self[.vary].map { "\($0), \(name)" } ?? name
  }
}
