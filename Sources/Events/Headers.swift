import Records

/// The headers that the codec reads, each at most once.
struct Headers: ~Copyable {
  var specVersion: [UInt8]?
  var id: [UInt8]?
  var source: [UInt8]?
  var type: [UInt8]?
  var time: [UInt8]?
  var contentType: [UInt8]?
  /// Also nil if malformed or repeated: a broken trace must not make the event invalid.
  private(set) var trace: TraceContext?

  static let names: Set<String> = [
    "ce_specversion", "ce_id", "ce_source", "ce_type", "ce_time", "content-type",
    TraceContext.headerName,
  ]

  /// Other headers are ignored.
  init(_ headers: [Header]) throws(EventError) {
    guard headers.count <= Limits.headers else {
      throw EventError(
        .tooManyHeaders,
        "The record has \(headers.count) headers; at most \(Limits.headers) are allowed.")
    }
    var traceHeaders = 0
    for header in headers {
      switch header.name {
      case "ce_specversion": try Self.set(&specVersion, header)
      case "ce_id": try Self.set(&id, header)
      case "ce_source": try Self.set(&source, header)
      case "ce_type": try Self.set(&type, header)
      case "ce_time": try Self.set(&time, header)
      case "content-type": try Self.set(&contentType, header)
      case TraceContext.headerName:
        traceHeaders += 1
        trace = traceHeaders == 1 ? header.value.flatMap { TraceContext($0) } : nil
      case WireRecord.unreadableHeader:
        throw EventError(
          .tooManyHeaders,
          "The record's headers cannot be read: there are more than 100,000, or they are malformed; "
            + "at most \(Limits.headers) are allowed.")
      default: break
      }
    }
  }

  private static func set(
    _ slot: inout [UInt8]?, _ header: Header
  ) throws(EventError) {
    guard slot == nil else {
      throw EventError(
        .duplicateHeader, "The header \(header.name) appears more than once.",
        field: header.name)
    }
    // Null means what empty means, but the header is there.
    slot = header.value ?? []
  }

  // Valid values are compared as bytes; strings are built only for errors.

  func parsedType() throws(EventError) -> EventType {
    if let type = eventTypes.first(where: { $0.bytes == type })?.value { return type }
    let name = try headerText(type, "ce_type", Limits.headerBytes)
    return try EventCodec.type(named: name, field: "ce_type")
  }

  func parsedTime() throws(EventError) -> EventTime {
    if let time = time.flatMap({ EventTime(rfc3339: $0) }) { return time }
    return try EventTime(rfc3339: headerText(time, "ce_time", Limits.headerBytes))
  }

  func parsedContentType() throws(EventError) -> ContentType {
    if let type = contentTypes.first(where: { $0.bytes == contentType })?.value { return type }
    let header = try headerText(contentType, "content-type", Limits.headerBytes)
    guard let contentType = ContentType(header: header) else {
      throw EventError(
        .unsupportedContentType,
        "The content type \(excerpt(header)) is not accepted; send application/protobuf or "
          + "application/json.",
        field: "content-type")
    }
    return contentType
  }
}

private let eventTypes = EventType.allCases.map { (bytes: Array($0.rawValue.utf8), value: $0) }
private let contentTypes = ContentType.allCases.map { (bytes: Array($0.rawValue.utf8), value: $0) }

/// A header's value as text.
///
/// - Throws: ``EventError`` if the header is missing, invalid UTF-8, empty, longer than
///   `limitBytes` bytes, or contains a control character.
func headerText(
  _ value: [UInt8]?, _ name: String, _ limitBytes: Int
) throws(EventError) -> String {
  guard let bytes = value, !bytes.isEmpty else {
    throw EventError(
      .missingHeader, "The header \(name) is missing or empty; it is required.", field: name)
  }
  guard bytes.count <= limitBytes else {
    throw EventError(
      .badHeader,
      "The header \(name) has \(bytes.count) bytes; at most \(limitBytes) are allowed.",
      field: name)
  }
  guard let text = String(validating: bytes, as: UTF8.self) else {
    throw EventError(.badHeader, "The header \(name) is not valid UTF-8.", field: name)
  }
  guard !containsControlCharacter(text) else {
    throw EventError(
      .badHeader, "The header \(name) contains a control character.", field: name)
  }
  return text
}
