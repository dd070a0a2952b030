/// The encoding of a record's value: the value of its `content-type` header.
public enum ContentType: String, CaseIterable, Sendable {
  case protobuf = "application/protobuf"
  case json = "application/json"

  /// Parses a media type, ignoring case and parameters such as `; charset=utf-8`.
  public init?(header: String) {
    if let exact = Self(rawValue: header) {
      self = exact
      return
    }
    let media = header.prefix { $0 != ";" }.lowercased()
    self.init(
      rawValue: String(media.drop(while: isBlank).reversed().drop(while: isBlank).reversed()))
  }
}

private func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
