/// The bounds of what the gateway accepts and holds. `docs/api.md` states those that clients meet.
enum GatewayLimits {
  /// Path and query.
  static let targetBytes = 4 << 10
  /// All of a request's headers, one of them, and their number.
  static let headerListBytes = 32 << 10
  static let headerBytes = 16 << 10
  static let headers = 64
  static let tokenBytes = 8 << 10
  /// The verified tokens that are remembered, each in less than 400 bytes.
  static let verifiedTokens = 16_384
  /// A cycle of 50 items at their limits is below it.
  static let bodyBytes = 384 << 10
  /// How long a request's body may take to arrive.
  static let bodySeconds = 10
  /// How long the head of a request may take from its first byte.
  static let headSeconds: Int64 = 10
  /// How long a body may take that the answer does not depend on.
  static let unreadBodySeconds: Int64 = 15
  /// How long a connection stays open without a request.
  static let idleSeconds: Int64 = 60
  static let connections = 16_384
  /// The requests as which one without a valid identity counts.
  static let requestsPerFailure = 20
  /// How many seconds' worth of requests may come at once.
  static let burstSeconds = 10.0
  /// The addresses, and the people, whose requests are counted.
  static let buckets = 100_000
  /// How long a stream's client may take to take an event.
  static let writeSeconds: Int64 = 30
  /// How often a stream shows that it lives, and how often of these it looks without a hint.
  static let heartbeatSeconds = 15
  static let heartbeatsPerLook = 4
  /// The screens that a stream's client may watch.
  static let watched = 20
  /// The most of a `Last-Event-ID` that is read: a tag for each screen of a stream.
  static let lastEventIDBytes = 1 << 10
  /// The hints that wait for one partition of one worker to be applied, and how many records of one are told apart.
  static let unappliedHints = 20_000
  static let unappliedRecords = 16
  /// How often all streams together look at what many people see. With more of them, each looks less often.
  static let looksPerSecond = 200
  /// The people whose visits are recorded in an hour, and how long after a failure the next one is.
  static let visitors = 1_000_000
  static let visitsRetrySeconds = 60
  /// The text that people search for.
  static let queryBytes = 256
  static let cursorBytes = 1 << 10
  /// The most rows of a page; the page functions clamp to the same.
  static let pageRows = 200
  static let defaultPageRows = 50
  static let idempotencyKeyBytes = 128
  /// The positions that one `Magpie-After` may name.
  static let positions = 8
  /// How far back `Magpie-Time` may lie: an app that was offline for a week.
  static let pastMicroseconds: Int64 = 7 * 86_400_000_000
  /// The key file, and the keys in it.
  static let keyFileBytes = 1 << 20
  static let keys = 100
  /// How often a key set is fetched, how soon again after a failure (twice as late after each further one),
  /// and after a fetch because a token names an unknown key; how long a fetch may take.
  static let keysSeconds = 300
  static let keysRetrySeconds = 1
  static let unknownKeySeconds = 30
  static let keysFetchSeconds: Int64 = 5
  /// A statement. Long enough for a page of a slow replica, short enough for who waits for it.
  static let statementSeconds = 5
  static let connectSeconds = 3
  /// The requests that wait for a connection to PostgreSQL, for each connection.
  static let waitingPerConnection = 32
  /// librdkafka's `message.timeout.ms`: how long an action waits for its acknowledgement.
  static let acknowledgementMilliseconds = 10_000
}
