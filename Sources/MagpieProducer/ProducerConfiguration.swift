public import Events

/// How a ``Producer`` reaches Kafka, what it calls itself and how much it holds.
public struct ProducerConfiguration: Sendable {
  /// `host:port`, several separated by commas.
  public var bootstrap: String
  /// The events' `source` when they are built by the producer's own methods, such as
  /// `my-app/likes-service`.
  public var source: String
  /// What topic names begin with.
  public var topicPrefix: String
  public var contentType: ContentType
  /// Events accepted and not yet acknowledged. At the bound, publishing waits.
  public var maxBufferedEvents: Int
  /// The same in bytes of key, value and headers.
  public var maxBufferedBytes: Int
  /// librdkafka properties by name, for example `security.protocol`.
  public var properties: [String: String]

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
