/// A record's key, value and headers: what a producer decides, without its place in a log.
public struct WireRecord: Sendable, Hashable {
  public var key: [UInt8]?
  public var value: [UInt8]?
  public var headers: [Header]

  public init(key: [UInt8]?, value: [UInt8]?, headers: [Header]) {
    self.key = key
    self.value = value
    self.headers = headers
  }

  /// The size of key, value and headers.
  public var byteCount: Int {
    var bytes = (key?.count ?? 0) + (value?.count ?? 0)
    for header in headers { bytes += header.name.utf8.count + (header.value?.count ?? 0) }
    return bytes
  }
}

/// A record header. Names may repeat, and order is kept; a nil value differs from an empty one.
public struct Header: Sendable, Hashable {
  public var name: String
  public var value: [UInt8]?

  public init(name: String, value: [UInt8]?) {
    self.name = name
    self.value = value
  }

  /// A header whose value is the text in UTF-8.
  public init(_ name: String, _ text: String) {
    self.init(name: name, value: Array(text.utf8))
  }
}
