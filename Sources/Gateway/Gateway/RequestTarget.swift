import Events

/// A request's path and query, decoded strictly: ambiguous input is rejected.
struct RequestTarget: Equatable {
  /// The decoded path segments. A segment may contain any character except NUL, including "/".
  var segments: [String]
  /// The decoded parameters.
  var query: [String: String]

  /// - Parameter target: in origin form, or in absolute form, whose scheme and host say nothing here (RFC 9112,
  ///   3.2).
  /// - Throws: ``Problem`` if it is too long, not percent-encoded UTF-8, contains NUL, or repeats a
  ///   parameter.
  init(_ target: String) throws(Problem) {
    guard target.utf8.count <= GatewayLimits.targetBytes else {
      throw Problem(
        .invalidTarget, "The target is longer than \(GatewayLimits.targetBytes) bytes.")
    }
    guard let path = originForm(target) else {
      throw Problem(.invalidTarget, "The target is not a path.")
    }
    let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    segments = []
    for segment in parts[0].dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
      segments.append(try decoded(segment, plusIsSpace: false))
    }
    query = [:]
    for pair in (parts.count > 1 ? parts[1] : "").split(separator: "&") {
      let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = try decoded(halves[0], plusIsSpace: true)
      let value = halves.count > 1 ? try decoded(halves[1], plusIsSpace: true) : ""
      guard query.updateValue(value, forKey: name) == nil else {
        throw Problem(.invalidParameter, "The parameter appears twice.", field: name)
      }
    }
  }
}

/// The part of the target from its path on; nil if it has none.
private func originForm(_ target: String) -> Substring? {
  var rest = target[...]
  for scheme in ["http://", "https://"] where rest.prefix(scheme.count).lowercased() == scheme {
    rest = rest.dropFirst(scheme.count)
    guard let end = rest.firstIndex(where: { "/?#".contains($0) }), end > rest.startIndex else {
      return nil
    }
    rest = rest[end...]
  }
  return rest.utf8.first == UInt8(ascii: "/") ? rest : nil
}

private func decoded(_ text: Substring, plusIsSpace: Bool) throws(Problem) -> String {
  var bytes: [UInt8] = []
  var rest = text.utf8.makeIterator()
  while let byte = rest.next() {
    switch byte {
    case UInt8(ascii: "%"):
      guard let high = rest.next().flatMap(hexadecimalDigit),
        let low = rest.next().flatMap(hexadecimalDigit)
      else { throw Problem(.invalidTarget, "A % is not followed by two hexadecimal digits.") }
      bytes.append(UInt8(high << 4 | low))
    case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
    default: bytes.append(byte)
    }
  }
  guard !bytes.contains(0), let result = String(validating: bytes, as: UTF8.self) else {
    throw Problem(.invalidTarget, "The target is not UTF-8 without NUL, percent-encoded.")
  }
  return result
}
