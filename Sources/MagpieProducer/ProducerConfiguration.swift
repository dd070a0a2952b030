public import Events

/// A ``Producer``'s Kafka connection, event source and buffer bounds.
public struct ProducerConfiguration: Sendable {
  /// One or more `host:port`, separated by commas.
  public var bootstrap: String
  /// The `source` of events built by the producer's own methods, such as `my-app/likes-service`.
  public var source: String
  /// The prefix of topic names.
  public var topicPrefix: String
  /// How an event's data is encoded. Workers read both encodings.
  public var contentType: ContentType
  /// The most events accepted and not yet acknowledged, 1 to 2,000,000,000; other numbers count as the nearest of
  /// these. At the bound, publishing waits.
  public var maxBufferedEvents: Int
  /// The most bytes of key, value and headers of these events, 1 to 1 TiB, likewise. A larger event is published alone.
  public var maxBufferedBytes: Int
  /// librdkafka properties by name, such as `security.protocol`.
  public var properties: [String: String]

  /// - Parameters:
  ///   - bootstrap: one or more `host:port`, separated by commas.
  ///   - source: the `source` of events built by the producer's own methods.
  ///   - topicPrefix: the prefix of topic names, the same as the workers'.
  ///   - contentType: how an event's data is encoded.
  ///   - maxBufferedEvents: the most events in flight.
  ///   - maxBufferedBytes: the most bytes of these events.
  ///   - properties: librdkafka properties by name; ``Producer`` refuses unknown ones and those that are fixed.
  public init(
    bootstrap: String, source: String, topicPrefix: String = Topic.defaultPrefix,
    contentType: ContentType = .protobuf, maxBufferedEvents: Int = 10_000,
    maxBufferedBytes: Int = 32 << 20, properties: [String: String] = [:]
  ) {
    self.bootstrap = bootstrap
    self.source = source
    self.topicPrefix = topicPrefix
    self.contentType = contentType
    self.maxBufferedEvents = maxBufferedEvents
    self.maxBufferedBytes = maxBufferedBytes
    self.properties = properties
  }
}
