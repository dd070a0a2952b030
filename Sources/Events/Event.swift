/// A decoded record: what happened, when, and which producer reported it.
public struct Event: Sendable, Equatable {
  /// Unique across all sources, such as a UUID, 1 to 128 bytes. A retry of the same event has the
  /// same id.
  public var id: String
  /// The producer, such as `my-app/posts-service`.
  public var source: String
  /// When it happened, by the producer's clock. Together with the id it decides which of two
  /// conflicting facts wins.
  public var time: EventTime
  public var payload: Payload
  /// The trace that the event belongs to, if any. Passed on with the event; it has no effect on
  /// processing.
  public var trace: TraceContext?
  /// The partition of the record that the event was decoded from; nil for another event. No part of
  /// what happened, so it is not compared.
  public var partition: Int32?
  /// The offset of the record in that partition.
  public var offset: Int64?

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
  /// The person affected: the record's key.
  public var key: String { payload.key }
  /// Of two versions of a fact, the greater one wins.
  public var version: Version { Version(time: time, id: id) }

  /// Compares strings byte by byte, unlike `String`'s equality.
  public static func == (left: Self, right: Self) -> Bool {
    left.time == right.time && left.id.hasSameBytes(as: right.id)
      && left.source.hasSameBytes(as: right.source) && left.payload == right.payload
      && left.trace == right.trace
  }
}

/// Orders versions of a fact: by time, then by id byte by byte, exactly as PostgreSQL compares the
/// row `(version_time, version_id)`.
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
