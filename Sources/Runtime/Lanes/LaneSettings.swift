public import Handling
public import Kafka
import Postgres
import Schema

/// What every lane of a worker process is started with.
public struct LaneSettings: Sendable {
  public var handler: Handler
  public var kafka: ClientConfiguration
  /// What the names of topics and of the consumer group begin with, such as `magpie.`.
  public var topicPrefix: String
  /// A PostgreSQL connection URL; may hold a password, so it is never logged.
  public var databaseURL: String
  /// Records in one poll, and so in one transaction, at most.
  public var batchRecordsMax = 5000
  /// Bytes of keys, values and headers in one poll at most, passed by no more than one record.
  public var batchBytesMax = 8 << 20
  /// How long a poll waits for the first record.
  public var pollTimeoutMilliseconds = 100
  /// How long a settled member of the consumer group may be without an assignment and still be
  /// called ready: a rebalance.
  public var groupPatience = Duration.seconds(10)
  /// After how long without an assignment the membership is started anew.
  public var groupWaitMax = Duration.seconds(60)
  /// When to stop for too many dead letters.
  public var circuitBreaker = CircuitBreaker()
  /// Whether statements are prepared once a connection. Poolers without protocol-level prepared
  /// statements (pgbouncer before 1.21) need that to be off.
  public var preparesStatements = true
  /// Stored with each dead letter.
  public var codeVersion: String

  /// The Kafka consumer group, also the key of the stored offsets.
  public var consumerGroup: String { topicPrefix + handler.name }

  public init(
    handler: Handler, kafka: ClientConfiguration, topicPrefix: String, databaseURL: String,
    codeVersion: String
  ) {
    self.handler = handler
    self.kafka = kafka
    self.topicPrefix = topicPrefix
    self.databaseURL = databaseURL
    self.codeVersion = codeVersion
  }
}

extension LaneSettings {
  /// The bound on one statement, unless role or URL set one. What does not fit into it is cut in halves,
  /// so it need not be generous; `lock_timeout` is below it, because whoever waits for a lock is not at
  /// fault.
  private static let statementTimeoutSeconds = 60

  /// A connection in the worker's role, to a database with the schema of this code, or a newer one
  /// beside which this code goes on.
  func openConnection() throws -> Connection {
    let connection = try Connection(
      databaseURL, applicationName: consumerGroup,
      statementTimeoutSeconds: Self.statementTimeoutSeconds,
      preparedStatementLimit: preparesStatements ? 256 : 0)
    do {
      try Migrations.check(connection, allowsNewer: true)
      try connection.script(
        """
        SET ROLE \(handler.databaseRole);
        SET lock_timeout = '30s';
        -- A stopped process must not keep its rows locked: its successor waits for them.
        SET idle_in_transaction_session_timeout = '30s';
        """)
    } catch {
      connection.close()
      throw error
    }
    return connection
  }
}
