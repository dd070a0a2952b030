/// A record's key, value and headers, independent of the client library.
public struct WireRecord: Sendable, Equatable {
  /// A header; Kafka allows its value to be null.
  public struct Header: Sendable, Equatable {
    public var name: String
    public var value: [UInt8]?

    public init(_ name: String, _ value: [UInt8]?) {
      self.name = name
      self.value = value
    }
  }

  public var key: [UInt8]?
  public var value: [UInt8]?
  public var headers: [Header]

  public init(key: [UInt8]?, value: [UInt8]?, headers: [Header]) {
    self.key = key
    self.value = value
    self.headers = headers
  }
}

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
