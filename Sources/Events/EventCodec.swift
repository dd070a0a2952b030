public import Records

/// `Records.WireRecord`, for importers of this module.
public typealias WireRecord = Records.WireRecord

/// Converts events to records and back: CloudEvents 1.0 in Kafka's binary content mode.
///
/// Decoding is strict, so that workers never apply a guess. Only unknown JSON and Protobuf fields
/// are ignored, so that producers may be newer than workers.
public enum EventCodec {
  static let specVersion = "1.0"
  private static let specVersionBytes = Array(specVersion.utf8)

  /// Encodes the event as a record for `event.topic`.
  ///
  /// - Throws: ``EventError`` if a consumer would reject the event. The time's upper bound is not
  ///   checked; it depends on the consumer's clock.
  public static func encode(
    _ event: Event, as contentType: ContentType = .protobuf
  ) throws(EventError) -> WireRecord {
    var event = event
    try validate(&event)
    let value = try event.payload.bytes(as: contentType)
    try checkValueSize(value.count)
    var headers: [Header] = [
      .init("ce_specversion", specVersion),
      .init("ce_id", event.id),
      .init("ce_source", event.source),
      .init("ce_type", event.type.rawValue),
      .init("ce_time", event.time.rfc3339),
      .init("content-type", contentType.rawValue),
    ]
    if let trace = event.trace {
      headers.append(.init(TraceContext.headerName, trace.description))
    }
    return WireRecord(key: Array(event.key.utf8), value: value, headers: headers)
  }

  /// Decodes the event in a record of `topic`.
  ///
  /// - Parameters:
  ///   - now: the current time; an event may be at most an hour ahead of it.
  ///   - jsonPayload: decodes JSON data. Verification passes its own decoder, so that it does not
  ///     share the workers' bugs.
  /// - Throws: ``EventError`` for the first problem found. A malformed or repeated `traceparent` is
  ///   not a problem: it is ignored.
  public static func decode(
    _ record: WireRecord, topic: Topic, now: EventTime,
    jsonPayload: (EventType, [UInt8]) throws(EventError) -> Payload = EventCodec.jsonPayload
  ) throws(EventError) -> Event {
    guard let key = record.key else {
      throw EventError(
        .missingKey, "The record has no key; it must be the id of the person affected.",
        field: "key")
    }
    guard let value = record.value else {
      throw EventError(
        .missingValue, "The record has no value (a tombstone); send a deletion as an event.",
        field: "value")
    }
    try checkValueSize(value.count)

    let headers = try Headers(record.headers)
    if headers.specVersion != specVersionBytes {
      _ = try headerText(headers.specVersion, "ce_specversion", Limits.headerBytes)
      throw EventError(
        .unsupportedSpecVersion, "ce_specversion must be \(specVersion).", field: "ce_specversion")
    }
    let type = try headers.parsedType()
    guard type.topic == topic else {
      throw EventError(
        .wrongTopic,
        "\(type.rawValue) belongs on the topic \(type.topic.rawValue), not \(topic.rawValue).",
        field: "ce_type")
    }
    let id = try headerText(headers.id, "ce_id", Limits.idBytes)
    let source = try headerText(headers.source, "ce_source", Limits.sourceBytes)
    let time: EventTime
    do throws(EventError) {
      time = try headers.parsedTime()
      try checkTime(time, now: now)
    } catch {
      var named = error
      named.field = "ce_time"
      throw named
    }
    let contentType = try headers.parsedContentType()
    let payload: Payload
    switch contentType {
    case .protobuf: payload = try Self.payload(type, from: .protobuf(value))
    case .json:
      payload = try jsonPayload(type, value)
      try JSONObjectScanner.check(value)
    }
    var event = Event(id: id, source: source, time: time, payload: payload, trace: headers.trace)
    try validate(
      &event, isChangedByErasure: type == .messageSent && record.isChangedByErasure)
    guard key.elementsEqual(event.key.utf8) else {
      throw EventError(
        .wrongKey,
        "The record's key is \(excerpt(String(decoding: key, as: UTF8.self))), but the person "
          + "affected is \(excerpt(event.key)); they must be the same bytes.",
        field: "key")
    }
    return event
  }

  /// Decodes an event's data from the proto3 JSON mapping, as the workers do: unknown fields are
  /// ignored.
  ///
  /// - Throws: ``EventError`` with the code ``EventError/Code/badJSON``.
  public static func jsonPayload(
    _ type: EventType, _ bytes: [UInt8]
  ) throws(EventError) -> Payload {
    try payload(type, from: .json(bytes, ignoringUnknownFields: true))
  }
}

// Shared by the binary and the structured mode.
extension EventCodec {
  /// Checks the event, and removes duplicate mentions.
  static func validate(
    _ event: inout Event, isChangedByErasure: Bool = false
  ) throws(EventError) {
    try checkID(event.id, "id")
    guard !event.source.isEmpty else {
      throw EventError(
        .missingField, "source is missing or empty; it names the producer.", field: "source")
    }
    try checkLength(event.source, "source", Limits.sourceBytes)
    guard !containsControlCharacter(event.source) else {
      throw EventError(.badID, "source contains a control character.", field: "source")
    }
    try checkTime(event.time, now: nil)
    try event.payload.validate(isChangedByErasure: isChangedByErasure)
  }

  static func checkTime(_ time: EventTime, now: EventTime?) throws(EventError) {
    guard time >= Limits.earliestTime else {
      throw EventError(
        .timeTooEarly, "The time \(time) is before 2000; check the producer's clock and units.",
        field: "time")
    }
    guard let now, time.microseconds > now.microseconds + Limits.futureMicroseconds else { return }
    throw EventError(
      .timeTooLate,
      "The time \(time) is more than an hour after \(now); check the producer's clock.",
      field: "time")
  }

  static func type(named name: String, field: String) throws(EventError) -> EventType {
    guard let type = EventType(rawValue: name) else {
      throw EventError(
        .unknownType, "Unknown event type \(excerpt(name)); docs/events lists the types.",
        field: field)
    }
    return type
  }

  static func payload(_ type: EventType, from source: DataSource) throws(EventError) -> Payload {
    do {
      return try Payload(type, from: source)
    } catch {
      throw EventError(decoding: error, type: type, source: source)
    }
  }

  static func checkValueSize(_ count: Int) throws(EventError) {
    guard count <= Limits.valueBytes else {
      throw EventError(
        .valueTooLarge, "The value has \(count) bytes; at most \(Limits.valueBytes) are allowed.",
        field: "value")
    }
  }
}
