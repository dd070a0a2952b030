public import Records

/// When a person was erased, as far as records need it.
public struct PersonErasure: Sendable {
  /// What the person did, or what was done to them, until then has no effect.
  public var erasedAt: EventTime
  /// When no table named the person any more; nil if that is not known yet. Until then, workers publish
  /// events that name the person.
  public var doneAt: EventTime?
  /// Who they are from now on to those who wrote to them (`FormerPerson`).
  public var formerID: String

  public init(erasedAt: EventTime, doneAt: EventTime? = nil, formerID: String) {
    (self.erasedAt, self.doneAt, self.formerID) = (erasedAt, doneAt, formerID)
  }
}

/// Whom a copy of a record names, and what is left of it when people are erased: of a dead letter, or of a
/// record in an archive.
///
/// A record that can be applied names whom its event names. Of any other record, each whole string counts
/// that could be an id: a string in JSON, a string in Protobuf, the key, or a header's value. Part of a
/// string never counts: the id `42` does not match `1428`.
public struct RecordForgetting: Sendable {
  /// The ids to look up: of the people named, or what could be their ids.
  public let ids: [String]
  private let record: WireRecord
  /// Nil if the record cannot be applied.
  private let event: Event?
  /// Whether a worker published it.
  private let isPublished: Bool
  /// The time with which erasures are compared; nil if unknown, which is before every erasure.
  public let time: EventTime?

  /// - Parameters:
  ///   - topic: nil if it is not one of Magpie's.
  ///   - time: when the record was written; nil if unknown, which is before every erasure. If the record can
  ///     be applied, its event's time counts instead, unless a worker published it.
  public init(_ record: WireRecord, topic: Topic?, time: EventTime?) {
    self.record = record
    isPublished = topic?.isInternal ?? false
    let endOfTime = EventTime(microseconds: .max / 2)
    event = topic.flatMap { try? EventCodec.decode(record, topic: $0, now: endOfTime) }
    if let event {
      ids = event.named
      // What workers publish counts by when they published it, because until the sweeps are done it may name the person.
      // Its event's time is that of the cause, which may be ahead.
      self.time = isPublished ? [time, event.time].compactMap(\.self).min() : event.causedAt
    } else {
      // The event of a record with a wrong key, for example. A producer's clock that is ahead does not keep
      // it, nor does a record that arrives late.
      let event = RecordAnatomy(record).event
      self.time = [time, record.statedTime, event?.causedAt].compactMap(\.self).min()
      ids = possibleIDs(in: record) + (event?.named ?? [])
    }
  }

  /// What is left of the record; nil if it stays as it is.
  ///
  /// - Parameter erasure: the newest erasure of the person with an id, if there is one.
  public func remainder(_ erasure: (String) -> PersonErasure?) -> WireRecord? {
    let isErased = { (id: String) -> Bool in
      guard let erasure = erasure(id) else { return false }
      guard let time else { return true }
      return time <= (isPublished ? erasure.doneAt ?? erasure.erasedAt : erasure.erasedAt)
    }
    guard ids.contains(where: isErased) else { return nil }
    // Others' snapshots of an alarm are replaced by newer versions.
    guard let event, !isPublished, event.type != .userErased,
      let left = event.forgetting(formerReceiver: { erasure($0)?.formerID }, isErased)
    else { return .erased }
    return record.replacingEvent(left)
  }
}

extension WireRecord {
  /// The time in the header `ce_time`; nil if it is missing or not a time. Only ``EventCodec`` decides whether it is valid.
  public var statedTime: EventTime? {
    headers.first { $0.name == "ce_time" }?.value.flatMap { EventTime(rfc3339: $0) }
  }

  /// The record with another event of the same type, and only the headers that belong to events.
  fileprivate func replacingEvent(_ event: Event) -> WireRecord {
    let contentType = headers.first { $0.name == "content-type" }?.value
      .flatMap { ContentType(header: String(decoding: $0, as: UTF8.self)) }
    guard let contentType, let value = try? event.payload.bytes(as: contentType) else {
      return .erased
    }
    return WireRecord(
      key: Array(event.key.utf8), value: value,
      headers: headers.filter { Headers.names.contains($0.name) } + WireRecord.erased.headers)
  }
}

extension Event {
  /// The people whom the event names, including those who are named in what workers publish about others.
  fileprivate var named: [String] {
    switch payload {
    case .userErased(let data): [data.user]
    case .notificationChanged(let data):
      // The subject of a notification about messages is their sender; the source of one about an author's
      // new post is the post.
      [data.recipient, data.actor, data.secondActor]
        + (Int(data.type) == AlarmType.message.code ? [data.subject] : [])
        + (Int(data.type) == AlarmType.newPostCode ? [] : [data.source])
    case .alarmChanged(let data):
      [data.recipient, data.actor, data.secondActor] + data.segments.map(\.actor)
        + data.spans.map(\.actor) + data.linked
    default: people
    }
  }
}

/// The kinds in whose links the people are the actor and the recipient.
private let kindsOfOwnEvents =
  AlarmType.allCases.map(\.kindCode) + ["F\(AlarmType.newPostCode)"]

extension AlarmChanged {
  /// What could be the ids of people whom only the deep link names: its template may have the subject, the source or an
  /// argument.
  fileprivate var linked: [String] {
    guard !kindsOfOwnEvents.contains(kind) else { return [] }
    return linkValues(deepLink).filter {
      1...Limits.idBytes ~= $0.utf8.count && !$0.hasSameBytes(as: post)
        && !$0.hasSameBytes(as: comment)
    }
  }
}

/// What could be ids in a link. A template's fields are percent-encoded, so that of all delimiters they may have only `.`
/// and `~`; an id in a link that is an argument may have more.
///
/// A template has words as its scheme, and as its authority if a path follows: `magpie://groups/{subject}`.
private func linkValues(_ link: String) -> [String] {
  var rest = Array(link.utf8)[...]
  if let end = rest.firstIndex(where: { !isUnreserved($0) && $0 != UInt8(ascii: "+") }),
    rest[end] == UInt8(ascii: ":")
  {
    rest = rest[(end + 1)...]
    if rest.starts(with: "//".utf8) {
      rest = rest.dropFirst(2)
      let path = rest.drop { !"/?#".utf8.contains($0) }
      if path.count > 1 { rest = path }
    }
  }
  let parts = rest.split { "/?&=#".utf8.contains($0) }
  let words = rest.split { $0 < 0x80 && !isUnreserved($0) && $0 != UInt8(ascii: "%") }
  return (parts + words.flatMap(dotted)).map(percentDecoded)
}

/// A word of a link and what is between its dots and tildes, as in `{source}.html`. An id may have some, too.
private func dotted(_ word: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
  let dots = word.indices.filter { ".~".utf8.contains(word[$0]) }
  guard dots.count <= 8 else { return [word] }
  return ([word.startIndex] + dots.map { $0 + 1 }).flatMap { start in
    (dots + [word.endIndex]).filter { $0 > start }.map { word[start..<$0] }
  }
}

/// Whether a byte is one of RFC 3986's unreserved characters.
private func isUnreserved(_ byte: UInt8) -> Bool {
  switch byte {
  case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
  default: false
  }
}

private func percentDecoded(_ bytes: ArraySlice<UInt8>) -> String {
  var result: [UInt8] = []
  var rest = bytes
  while let byte = rest.popFirst() {
    if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(hexadecimalDigit),
      let low = rest.dropFirst().first.flatMap(hexadecimalDigit)
    {
      result.append(UInt8(high << 4 | low))
      rest = rest.dropFirst(2)
    } else {
      result.append(byte)
    }
  }
  return String(decoding: result, as: UTF8.self)
}
