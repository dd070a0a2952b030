/// A decoded record: something that happened, when, and who says so.
public struct Event: Sendable, Equatable {
  /// Unique for its source, 1 to 128 bytes. A retry of the same event has the same id.
  public var id: String
  /// Which producer says so, such as `my-app/posts-service`.
  public var source: String
  /// When it happened, by the producer's clock. With the id it decides which of two facts wins.
  public var time: EventTime
  public var payload: Payload
  /// The trace that it is part of, if any. Travels with the event and changes nothing about it.
  public var trace: TraceContext?

  public init(
    id: String, source: String, time: EventTime, payload: Payload, trace: TraceContext? = nil
  ) {
    self.id = id
    self.source = source
    self.time = time
    self.payload = payload
    self.trace = trace
  }

  public var type: EventType { payload.type }
  public var topic: Topic { payload.type.topic }
  /// The person whose screen changes: the record's key.
  public var key: String { payload.key }
  /// The greater version of a fact is the one that holds.
  public var version: Version { Version(time: time, id: id) }

  /// Byte by byte, unlike `String`'s equality.
  public static func == (left: Self, right: Self) -> Bool {
    left.time == right.time && left.id.hasSameBytes(as: right.id)
      && left.source.hasSameBytes(as: right.source) && left.payload == right.payload
      && left.trace == right.trace
  }
}

/// The rank of a fact: later time first, then the greater id byte by byte, exactly as PostgreSQL
/// compares the row `(version_time, version_id)`.
public struct Version: Sendable, Hashable, Comparable {
  public var time: EventTime
  public var id: String

  public init(time: EventTime, id: String) {
    self.time = time
    self.id = id
  }

  public static func == (left: Self, right: Self) -> Bool {
    left.time == right.time && left.id.hasSameBytes(as: right.id)
  }

  public static func < (left: Self, right: Self) -> Bool {
    left.time != right.time
      ? left.time < right.time : BytewiseString(left.id) < BytewiseString(right.id)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(time)
    hasher.combine(BytewiseString(id))
  }
}
