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

  /// About how many bytes of memory the record takes. Each header, even an empty one, takes some besides its bytes.
  public var memoryByteCount: Int { byteCount + 192 + 96 * headers.count }
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

extension WireRecord {
  /// The only header of a consumed record whose headers librdkafka cannot read: more than 100,000, or malformed ones. Its
  /// value is null.
  public static let unreadableHeader = "magpie_unreadable_headers"

  /// The header of a record from which people were erased, wherever a copy of it is kept. Its value is null.
  public static let erasedHeader = "magpie_erased"

  /// What is left of a record that named an erased person: nothing.
  public static let erased = WireRecord(
    key: nil, value: nil, headers: [Header(name: erasedHeader, value: nil)])

  /// Whether people were erased from the record, so that it is not the one in Kafka's log.
  public var isChangedByErasure: Bool { headers.contains { $0.name == Self.erasedHeader } }

  /// Whether nothing is left of the record.
  public var isErased: Bool { key == nil && value == nil && isChangedByErasure }
}
