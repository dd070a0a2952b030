/// An event's W3C trace context (`traceparent`, level 1).
///
/// Magpie creates no spans of its own: it passes the context on unchanged, except for undefined
/// flags, and names the trace in its log lines. `tracestate` is dropped: it is other vendors'
/// state, and Magpie has no use for it.
public struct TraceContext: Sendable, Hashable, CustomStringConvertible {
  /// The header's name.
  public static let headerName = "traceparent"

  /// The trace of events that the current task publishes, unless an event has its own.
  @TaskLocal public static var current: TraceContext?

  /// 32 lowercase hexadecimal digits.
  public let traceID: String
  /// 16 lowercase hexadecimal digits: the span that created the event.
  public let parentID: String
  /// Whether the producer asked for this trace to be recorded.
  public let isSampled: Bool

  /// Parses a header's value, such as `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`.
  ///
  /// - Returns: nil if the W3C recommendation calls the value invalid. For an unknown version the
  ///   first four fields are read, as the recommendation prescribes.
  public init?(_ header: some Collection<UInt8>) {
    let bytes = Array(header.prefix(Limits.headerBytes + 1))
    let dash = UInt8(ascii: "-")
    guard bytes.count >= 55, bytes.count <= Limits.headerBytes,
      bytes[2] == dash, bytes[35] == dash, bytes[52] == dash,
      let version = hexadecimal(bytes[0..<2]), version != 0xFF,
      version == 0 ? bytes.count == 55 : bytes.count == 55 || bytes[55] == dash,
      let traceID = identifier(bytes[3..<35]), let parentID = identifier(bytes[36..<52]),
      let flags = hexadecimal(bytes[53..<55])
    else { return nil }
    (self.traceID, self.parentID, isSampled) = (traceID, parentID, flags & 1 == 1)
  }

  public init?(_ header: String) { self.init(header.utf8) }

  /// The header's value in version 00, with `sampled`, the only flag that it defines.
  public var description: String { "00-\(traceID)-\(parentID)-\(isSampled ? "01" : "00")" }
}

/// Lowercase only, as the recommendation requires.
private func digit(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  default: nil
  }
}

/// The value of hexadecimal digits.
private func hexadecimal(_ bytes: ArraySlice<UInt8>) -> UInt8? {
  bytes.reduce(UInt8?(0)) { value, byte in
    value.flatMap { value in digit(byte).map { value << 4 | $0 } }
  }
}

/// An id, unless a digit is invalid or all are zero.
private func identifier(_ bytes: ArraySlice<UInt8>) -> String? {
  guard bytes.allSatisfy({ digit($0) != nil }), bytes.contains(where: { $0 != UInt8(ascii: "0") })
  else { return nil }
  return String(decoding: bytes, as: UTF8.self)
}
