/// CloudEvents' structured JSON mode: one event as one JSON object, such as a line of a file:
///
///     {"specversion":"1.0","type":"magpie.like.created.v1","id":"1","source":"app",
///      "time":"2012-09-14T07:30:01Z","data":{"actor":"a","post":"p","postOwner":"o"}}
///
/// People write these by hand, so an unknown attribute or field is an error. Optional are
/// `specversion` and `datacontenttype`, which have one valid value each, and `traceparent`, which
/// must be well-formed.
public enum StructuredEvent {
  private static let attributes = [
    "specversion", "type", "id", "source", "time", "datacontenttype", "traceparent", "data",
  ]

  /// The event as one line of JSON, without the newline.
  ///
  /// - Throws: ``EventError``, as ``EventCodec/encode(_:as:)`` does.
  public static func encode(_ event: Event) throws(EventError) -> String {
    var event = event
    try EventCodec.validate(&event)
    let data = try event.payload.jsonBytes()
    try EventCodec.checkValueSize(data.count)
    var line = "{\"specversion\":\"\(EventCodec.specVersion)\",\"type\":\"\(event.type.rawValue)\""
    line += ",\"id\":" + jsonText(event.id)
    line += ",\"source\":" + jsonText(event.source)
    line += ",\"time\":\"\(event.time.rfc3339)\""
    if let trace = event.trace { line += ",\"traceparent\":\"\(trace)\"" }
    line += ",\"data\":"
    return line + String(decoding: data, as: UTF8.self) + "}"
  }

  /// Parses one JSON object.
  ///
  /// - Parameter now: the current time, as for ``EventCodec/decode(_:topic:now:jsonPayload:)``; nil
  ///   skips the upper bound.
  /// - Throws: ``EventError`` for the first problem found.
  public static func decode(_ line: String, now: EventTime? = nil) throws(EventError) -> Event {
    // Allow 8 KiB for the attributes besides the data.
    try EventCodec.checkValueSize(max(0, line.utf8.count - 8192))
    var scanner = JSONObjectScanner(line)
    let members = try scanner.members()
    if let unknown = members.keys.sorted().first(where: { !attributes.contains($0) }) {
      throw EventError(
        .unknownField,
        "Unknown attribute \(excerpt(unknown)); the attributes are "
          + attributes.joined(separator: ", ") + ".",
        field: unknown)
    }
    func text(_ name: String) throws(EventError) -> String {
      guard let value = members[name] else {
        throw EventError(
          .missingField, "The attribute \(name) is missing; it is required.", field: name)
      }
      guard case .string(let text) = value else {
        throw EventError(.badJSON, "The attribute \(name) must be a string.", field: name)
      }
      return text
    }
    if members["specversion"] != nil, try text("specversion") != EventCodec.specVersion {
      throw EventError(
        .unsupportedSpecVersion, "specversion must be \(EventCodec.specVersion).",
        field: "specversion")
    }
    if members["datacontenttype"] != nil, try ContentType(header: text("datacontenttype")) != .json
    {
      throw EventError(
        .unsupportedContentType, "datacontenttype must be application/json.",
        field: "datacontenttype")
    }
    let type = try EventCodec.type(named: text("type"), field: "type")
    let time = try EventTime(rfc3339: text("time"))
    try EventCodec.checkTime(time, now: now)
    guard let data = members["data"] else {
      throw EventError(.missingField, "The attribute data is missing.", field: "data")
    }
    guard case .object(let bytes) = data else {
      throw EventError(.badJSON, "The attribute data must be a JSON object.", field: "data")
    }
    let payload = try EventCodec.payload(
      type, from: .json(bytes, ignoringUnknownFields: false))
    try JSONObjectScanner.check(bytes)
    try EventCodec.checkValueSize(payload.protobufBytes.count)
    var trace: TraceContext?
    if members["traceparent"] != nil {
      trace = TraceContext(try text("traceparent"))
      guard trace != nil else {
        throw EventError(
          .badValue, "The attribute traceparent must have W3C's form, 00-<32 hex>-<16 hex>-01.",
          field: "traceparent")
      }
    }
    var event = Event(
      id: try text("id"), source: try text("source"), time: time, payload: payload, trace: trace)
    try EventCodec.validate(&event)
    return event
  }
}
