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

/// A consumed record. Only the broker's checksum has been verified.
public struct Record: Sendable, Equatable {
  public var topic: String
  public var partition: Int32
  public var offset: Int64
  /// The producer's or the broker's time, as the topic is configured; -1 if there is none.
  public var timestampMilliseconds: Int64
  public var key: [UInt8]?
  public var value: [UInt8]?
  public var headers: [Header]

  public init(
    topic: String, partition: Int32, offset: Int64, timestampMilliseconds: Int64, key: [UInt8]?,
    value: [UInt8]?, headers: [Header] = []
  ) {
    self.topic = topic
    self.partition = partition
    self.offset = offset
    self.timestampMilliseconds = timestampMilliseconds
    self.key = key
    self.value = value
    self.headers = headers
  }

  public var topicPartition: TopicPartition {
    TopicPartition(topic: topic, partition: partition)
  }

  /// The size of key, value and headers, which `Consumer.poll` compares with its bound.
  public var byteCount: Int {
    payloadByteCount(key: key, value: value, headers: headers)
  }
}

/// A record to produce.
public struct OutgoingRecord: Sendable, Equatable {
  public var topic: String
  /// nil lets the partitioner choose by key (murmur2, like the Java client).
  public var partition: Int32?
  public var key: [UInt8]?
  public var value: [UInt8]?
  public var headers: [Header]
  /// Milliseconds since 1970; nil means now.
  public var timestampMilliseconds: Int64?

  public init(
    topic: String, partition: Int32? = nil, key: [UInt8]?, value: [UInt8]?,
    headers: [Header] = [], timestampMilliseconds: Int64? = nil
  ) {
    self.topic = topic
    self.partition = partition
    self.key = key
    self.value = value
    self.headers = headers
    self.timestampMilliseconds = timestampMilliseconds
  }

  /// The size of key, value and headers in bytes.
  public var byteCount: Int {
    payloadByteCount(key: key, value: value, headers: headers)
  }
}

/// The position of an acknowledged record.
public struct Delivery: Sendable, Hashable {
  public var partition: Int32
  public var offset: Int64

  public init(partition: Int32, offset: Int64) {
    self.partition = partition
    self.offset = offset
  }
}

/// The bounds of a partition's log: `low` is the log start offset, `high` the end offset.
public struct Watermarks: Sendable, Hashable {
  public var low: Int64
  public var high: Int64

  public init(low: Int64, high: Int64) {
    self.low = low
    self.high = high
  }
}

private func payloadByteCount(key: [UInt8]?, value: [UInt8]?, headers: [Header]) -> Int {
  var bytes = (key?.count ?? 0) + (value?.count ?? 0)
  for header in headers { bytes += header.name.utf8.count + (header.value?.count ?? 0) }
  return bytes
}
