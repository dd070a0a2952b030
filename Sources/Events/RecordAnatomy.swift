/// What can be recovered from a record, however malformed, for people who inspect dead letters.
///
/// None of it may be applied: only ``EventCodec`` decides what is valid.
public struct RecordAnatomy: Sendable {
  /// The type named by the header `ce_type`; nil if missing or unknown.
  public let type: EventType?
  /// The data as JSON; nil if the value does not decode as the type's data.
  public let json: String?
  /// The event, decoded with the key, topic and upper time bound ignored; nil if it is invalid in
  /// any other way.
  public let event: Event?
  /// The value's Protobuf fields by number, if the content type is Protobuf and `json` is nil. If
  /// parsing fails, the last line says where.
  public let protobufFields: [String]

  public init(_ record: WireRecord) {
    func header(_ name: String) -> String? {
      record.headers.first { $0.name == name }?.value
        .flatMap { String(validating: $0, as: UTF8.self) }
    }
    type = header("ce_type").flatMap { EventType(rawValue: $0) }
    let contentType = header("content-type").flatMap { ContentType(header: $0) }
    var payload: Payload?
    if let type, let contentType, let value = record.value, value.count <= Limits.valueBytes {
      switch contentType {
      case .protobuf: payload = try? EventCodec.payload(type, from: .protobuf(value))
      case .json: payload = try? EventCodec.jsonPayload(type, value)
      }
    }
    json = payload.flatMap { try? $0.jsonBytes() }.map { String(decoding: $0, as: UTF8.self) }
    if let payload, let type {
      var repaired = record
      repaired.key = Array(payload.key.utf8)
      let endOfTime = EventTime(microseconds: .max / 2)
      event = try? EventCodec.decode(repaired, topic: type.topic, now: endOfTime)
    } else {
      event = nil
    }
    protobufFields =
      payload == nil && contentType == .protobuf ? protobufFieldLines(record.value ?? []) : []
  }
}

/// One line per field, up to the first byte that is not Protobuf; at most 200.
private func protobufFieldLines(_ bytes: [UInt8]) -> [String] {
  var reader = ProtobufReader(rest: bytes[...])
  var lines: [String] = []
  while !reader.rest.isEmpty {
    let start = reader.rest.startIndex
    guard lines.count < 200 else { return lines + ["… more fields from byte \(start)"] }
    guard let line = reader.field() else {
      return lines + ["no Protobuf field begins at byte \(start) of \(bytes.count)"]
    }
    lines.append(line)
  }
  return lines
}

/// Reads Protobuf's wire format without a schema.
struct ProtobufReader {
  var rest: ArraySlice<UInt8>

  mutating func field() -> String? {
    guard let tag = tag() else { return nil }
    switch tag & 7 {
    case 0: return varint().map { "\(tag >> 3): \($0)" }
    case 1: return fixed(8).map { "\(tag >> 3): fixed64 \(hexadecimalText($0))" }
    case 5: return fixed(4).map { "\(tag >> 3): fixed32 \(hexadecimalText($0))" }
    case 2:
      guard let length = varint(), let bytes = fixed(length) else { return nil }
      if let text = String(validating: bytes, as: UTF8.self) { return "\(tag >> 3): \"\(text)\"" }
      return "\(tag >> 3): \(bytes.count) bytes \(hexadecimalText(bytes.prefix(64)))"
    default: return nil
    }
  }

  /// Skips a field. Returns its bytes if it is length-delimited, and otherwise nothing; nil if it is no field.
  mutating func bytes() -> ArraySlice<UInt8>? {
    guard let tag = tag() else { return nil }
    switch tag & 7 {
    case 0: return varint().map { _ in [] }
    case 1: return fixed(8).map { _ in [] }
    case 5: return fixed(4).map { _ in [] }
    case 2: return varint().flatMap { fixed($0) }
    default: return nil
    }
  }

  private mutating func tag() -> UInt64? {
    guard let tag = varint(), tag >> 3 > 0, tag >> 3 < 1 << 29 else { return nil }
    return tag
  }

  private mutating func varint() -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      guard let byte = rest.popFirst() else { return nil }
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
    }
    return nil
  }

  private mutating func fixed(_ count: UInt64) -> ArraySlice<UInt8>? {
    guard count <= UInt64(rest.count) else { return nil }
    defer { rest = rest.dropFirst(Int(count)) }
    return rest.prefix(Int(count))
  }
}
