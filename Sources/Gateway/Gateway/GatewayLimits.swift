/// The limits on what the gateway accepts and holds. `docs/api.md` documents those that clients
/// meet.
enum GatewayLimits {
  /// Path and query together.
  static let targetBytes = 4 << 10
  /// The total size of a request's headers, the size of one, and their number.
  static let headerListBytes = 32 << 10
  static let headerBytes = 16 << 10
  static let headers = 64
  static let tokenBytes = 8 << 10
  /// The number of verified tokens in the cache; each takes less than 400 bytes.
  static let verifiedTokens = 16_384
  /// Enough for a cycle of 50 items of maximum size.
  static let bodyBytes = 384 << 10
  /// How long a request's body may take to arrive.
  static let bodySeconds = 10
  /// How long the headers of a request may take to arrive, from the first byte.
  static let headSeconds: Int64 = 10
  /// How long a body that the response does not depend on may take to arrive.
  static let unreadBodySeconds: Int64 = 15
  /// How long an idle connection stays open.
  static let idleSeconds: Int64 = 60
  static let connections = 16_384
  /// A request without a valid identity counts as this many requests.
  static let requestsPerFailure = 20
  /// The size of a burst, in seconds' worth of requests.
  static let burstSeconds = 10.0
  /// The maximum number of addresses, and of people, whose requests are counted.
  static let buckets = 100_000
  /// How long a client may take to accept what it is sent.
  static let deliverySeconds: Int64 = 60
  /// How long the peer of a connection may leave what it is sent unacknowledged (Linux).
  static let unacknowledgedSeconds = 45
  /// The kernel's buffer for what a connection has not sent yet; Linux takes twice as much.
  static let sendBufferBytes = 128 << 10
  /// The size from which a body is large. Smaller ones are bounded by the number of connections.
  /// A connection that has not sent as much takes no more until half of it has been sent.
  static let heldBytes = 16 << 10
  /// How old a stream must be to be ended for a newer one of the same person.
  static let streamSecondsMin = 30.0
  /// The size of all bodies of actions that may still arrive, by what their clients have announced.
  static let arrivingBytes = 256 << 20
  /// The size of all bodies of actions that Kafka has not acknowledged yet, and of those of one
  /// person. A body counts as ``actionBytesMin`` at least.
  static let actionBytes = 32 << 20
  static let actionBytesPerPerson = 4 << 20
  static let actionBytesMin = 4 << 10
  /// The size of all large bodies that clients have not taken yet, and of those of one person.
  static let responseBytes = 256 << 20
  static let responseBytesPerPerson = 32 << 20
  /// The interval of a stream's heartbeat comments, and the number of heartbeats after which a
  /// stream looks without a hint.
  static let heartbeatSeconds = 15
  static let heartbeatsPerLook = 4
  /// The maximum number of screens that a stream's client may watch.
  static let watched = 20
  /// The maximum number of rows that they may have together.
  static let watchedRows = watched * defaultPageRows
  /// How long watched screens are not read after a look at them, as a multiple of the time that the
  /// look took, and at most. So one stream uses a small part of a connection to PostgreSQL.
  static let restPerLook = 10
  static let restMax = Duration.seconds(5)
  /// How long a stream leaves out a watched screen that PostgreSQL has refused.
  static let refusedScreenSeconds = 600
  /// The minimum interval between the log lines of all streams' failures.
  static let complaintSeconds = 10
  /// The maximum part of a `Last-Event-ID` that is read: it holds a tag for each screen of a
  /// stream.
  static let lastEventIDBytes = 1 << 10
  /// The maximum number of hints that wait for one worker to apply one partition, and of records
  /// that are tracked individually per hint.
  static let unappliedHints = 20_000
  static let unappliedRecords = 16
  /// The maximum rate at which all streams of a subject together look at what many people see. The
  /// more streams, the less often each of them looks.
  static let looksPerSecond = 200
  /// The maximum number of people whose visits are recorded per hour, and the pause after a
  /// failure.
  static let visitors = 1_000_000
  static let visitsRetrySeconds = 60
  /// The maximum length of a search text.
  static let queryBytes = 256
  static let cursorBytes = 1 << 10
  /// The maximum number of rows per page; the page functions clamp to the same number.
  static let pageRows = 200
  static let defaultPageRows = 50
  static let idempotencyKeyBytes = 128
  /// The maximum number of positions in `Magpie-After`.
  static let positions = 8
  /// How many moments of ``PublishedChanges`` are kept.
  static let publishedMoments = 64
  /// How far in the past `Magpie-Time` may be: enough for an app that was offline for a week.
  static let pastMicroseconds: Int64 = 7 * 86_400_000_000
  /// How far ahead of the gateway's clock the time of what a person was shown may be.
  static let aheadMicroseconds: Int64 = 5_000_000
  /// The maximum size of a key set, and the maximum number of its keys.
  static let keyFileBytes = 1 << 20
  static let keys = 100
  /// The interval between fetches of a key set; the first retry delay after a failure, which
  /// doubles with each further failure; the minimum interval between fetches for unknown keys; and
  /// the timeout of a fetch.
  static let keysSeconds = 300
  static let keysRetrySeconds = 1
  static let unknownKeySeconds = 30
  static let keysFetchSeconds: Int64 = 5
  /// The statement timeout. Long enough for a page from a slow replica, short enough for a waiting
  /// client.
  static let statementSeconds = 5
  /// Bodies from this size on are compressed on a thread of their own.
  static let compressedAtOnceBytes = 64 << 10
  static let connectSeconds = 3
  /// The maximum number of requests that wait for a connection to PostgreSQL, per connection.
  static let waitingPerConnection = 32
  /// librdkafka's `message.timeout.ms`: how long an action waits for Kafka's acknowledgement.
  static let acknowledgementMilliseconds = 10_000
}
