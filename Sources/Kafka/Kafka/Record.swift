public import Records

/// `Records.Header`, for importers of this module.
public typealias Header = Records.Header

/// A partition of a topic.
public struct TopicPartition: Sendable, Hashable, Comparable, CustomStringConvertible {
  public var topic: String
  public var partition: Int32

  public init(topic: String, partition: Int32) {
    self.topic = topic
    self.partition = partition
  }

  public static func < (a: TopicPartition, b: TopicPartition) -> Bool {
    (a.topic, a.partition) < (b.topic, b.partition)
  }

  public var description: String { "\(topic)[\(partition)]" }
}

/// A consumed record. Only the broker's checksum has been verified.
public struct Record: Sendable, Equatable {
  public var topic: String
  public var partition: Int32
  /// The record's place in its partition.
  public var offset: Int64
  /// The producer's or the broker's time, as the topic is configured, in milliseconds since 1970; -1 if
  /// there is none.
  public var timestampMilliseconds: Int64
  /// Key, value and headers.
  public var wire: WireRecord

  public init(
    topic: String, partition: Int32, offset: Int64, timestampMilliseconds: Int64, wire: WireRecord
  ) {
    self.topic = topic
    self.partition = partition
    self.offset = offset
    self.timestampMilliseconds = timestampMilliseconds
    self.wire = wire
  }

  public init(
    topic: String, partition: Int32, offset: Int64, timestampMilliseconds: Int64, key: [UInt8]?,
    value: [UInt8]?, headers: [Header] = []
  ) {
    self.init(
      topic: topic, partition: partition, offset: offset,
      timestampMilliseconds: timestampMilliseconds,
      wire: WireRecord(key: key, value: value, headers: headers))
  }

  public var key: [UInt8]? {
    get { wire.key }
    set { wire.key = newValue }
  }
  public var value: [UInt8]? {
    get { wire.value }
    set { wire.value = newValue }
  }
  public var headers: [Header] {
    get { wire.headers }
    set { wire.headers = newValue }
  }

  public var topicPartition: TopicPartition {
    TopicPartition(topic: topic, partition: partition)
  }

  /// The size of key, value and headers in bytes.
  public var byteCount: Int { wire.byteCount }

  /// About how many bytes of memory the record takes, which `Consumer.poll` compares with its bound.
  public var memoryByteCount: Int { wire.memoryByteCount }
}

/// A record to produce.
public struct OutgoingRecord: Sendable, Equatable {
  public var topic: String
  /// nil lets the partitioner choose by key (murmur2, like the Java client).
  public var partition: Int32?
  /// Key, value and headers.
  public var wire: WireRecord
  /// Milliseconds since 1970; nil means now.
  public var timestampMilliseconds: Int64?

  public init(
    topic: String, partition: Int32? = nil, wire: WireRecord, timestampMilliseconds: Int64? = nil
  ) {
    self.topic = topic
    self.partition = partition
    self.wire = wire
    self.timestampMilliseconds = timestampMilliseconds
  }

  public init(
    topic: String, partition: Int32? = nil, key: [UInt8]?, value: [UInt8]?,
    headers: [Header] = [], timestampMilliseconds: Int64? = nil
  ) {
    self.init(
      topic: topic, partition: partition,
      wire: WireRecord(key: key, value: value, headers: headers),
      timestampMilliseconds: timestampMilliseconds)
  }

  public var key: [UInt8]? {
    get { wire.key }
    set { wire.key = newValue }
  }
  public var value: [UInt8]? {
    get { wire.value }
    set { wire.value = newValue }
  }
  public var headers: [Header] {
    get { wire.headers }
    set { wire.headers = newValue }
  }

  /// The size of key, value and headers in bytes.
  public var byteCount: Int { wire.byteCount }
}

/// The position of an acknowledged record.
public struct Delivery: Sendable, Hashable {
  public var partition: Int32
  /// The record's place in its partition.
  public var offset: Int64

  public init(partition: Int32, offset: Int64) {
    self.partition = partition
    self.offset = offset
  }
}

/// The bounds of a partition's log.
public struct Watermarks: Sendable, Hashable {
  /// The log start offset: that of the first record that is left, if any.
  public var low: Int64
  /// The end offset: that of the next record.
  public var high: Int64

  public init(low: Int64, high: Int64) {
    self.low = low
    self.high = high
  }
}
