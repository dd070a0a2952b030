public import Handling
public import Kafka
package import Postgres
import Schema

/// The settings of every lane of a worker process.
public struct LaneSettings: Sendable {
  public var handler: Handler
  public var kafka: ClientConfiguration
  /// The prefix of the names of topics and of the consumer group, such as `magpie.`.
  public var topicPrefix: String
  /// A PostgreSQL connection URL; may hold a password, so it is never logged.
  public var databaseURL: String
  /// The maximum number of records in one poll, and so in one transaction.
  public var batchRecordsMax = 5000
  /// The maximum bytes of memory that the records of one poll take, exceeded by at most one record.
  public var batchBytesMax = 8 << 20
  /// How long a poll waits for the first record.
  public var pollTimeoutMilliseconds = 100
  /// How long a settled member of the consumer group stays ready without an assignment, during a
  /// rebalance.
  public var groupPatience = Duration.seconds(10)
  /// How long to wait for an assignment before replacing the membership. Doubles, up to eightfold,
  /// with each membership that gets none.
  public var groupWaitMax = Duration.seconds(60)
  /// When to stop because of too many dead letters.
  public var circuitBreaker = CircuitBreaker()
  /// Whether statements are prepared once per connection. Must be off for poolers without
  /// protocol-level prepared statements (pgbouncer before 1.21).
  public var preparesStatements = true

  /// The Kafka consumer group, also the key of the stored offsets.
  public var consumerGroup: String { topicPrefix + handler.name }

  public init(
    handler: Handler, kafka: ClientConfiguration, topicPrefix: String, databaseURL: String
  ) {
    self.handler = handler
    self.kafka = kafka
    self.topicPrefix = topicPrefix
    self.databaseURL = databaseURL
  }
}

extension LaneSettings {
  /// The statement timeout, unless the role or the URL sets one. It can be short, because a batch that
  /// exceeds it is bisected.
  private static let statementTimeoutSeconds = 60

  /// Opens a connection in the worker's role. The database's schema is that of this code, or a newer
  /// compatible one, and the server is no standby.
  func openConnection() throws -> Connection {
    let connection = try Connection(
      databaseURL, applicationName: consumerGroup,
      statementTimeoutSeconds: Self.statementTimeoutSeconds,
      preparedStatementLimit: preparesStatements ? 256 : 0)
    do {
      if try connection.isReadOnly() { throw PostgresError.readOnly(connection.info) }
      try Migrations.check(connection, allowsNewer: true)
      try connection.assume(handler)
    } catch {
      connection.close()
      throw error
    }
    return connection
  }
}

extension Connection {
  /// Takes the privileges of the handler's worker, and the limits of its transactions.
  package func assume(_ handler: Handler) throws {
    try limitLockWaits()
    try script(
      """
      SET ROLE \(handler.databaseRole);
      -- A suspended process must not keep its rows locked: its successor waits for them.
      SET idle_in_transaction_session_timeout = '30s';
      """)
  }
}
