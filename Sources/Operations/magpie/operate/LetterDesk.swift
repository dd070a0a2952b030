import Events
import Gateway
import Handling
import Kafka
import Lanes
import Logging
import Postgres

/// The operators' actions on dead letters: read, redrive, discard.
///
/// Reads as `magpie_reader`. Each change opens a connection with the login's own rights, assumes
/// the role of the worker where it applies records, and closes the connection afterwards: between
/// changes, no connection holds these rights.
struct LetterDesk: Sendable {
  /// The maximum number of bytes of a value that are shown.
  private static let bytesMax = 64 << 10
  /// How long a change waits for a lock, a broker or the database.
  private static let patience = Duration.seconds(10)
  private static let statementSeconds = 30
  private static let redriveBatch = 50

  let pool: ConnectionPool
  let databaseURL: String
  let kafka: ClientConfiguration
  let prefix: String
  let handlers: [Handler]
  let logger: Logger
  private let turns = SingleFile(waitingMax: 8)

  /// A page in the order of the ids, and the id to pass as `after` for the next page.
  struct Page: Encodable, Sendable {
    var items: [ListedLetter]
    var next: String?
  }

  func page(_ query: LetterQuery) async throws -> Page {
    try await pool.read { [prefix] connection in
      let items = try ListedLetter.page(
        connection, query.filter.condition(prefix: prefix), after: query.after, limit: query.limit)
      return Page(items: items, next: items.count == query.limit ? items.last?.id : nil)
    }
  }

  struct Count: Encodable, Sendable {
    var group: String
    var topic: String
    var reasonCode: String
    var count: Int64
    var oldest: String
    var newest: String
  }

  /// Counts the open dead letters by group, topic and reason, largest counts first; at most 200
  /// rows.
  func counts() async throws -> [Count] {
    try await pool.read { [prefix] connection in
      try LetterCount.read(
        connection, by: [.group, .topic, .reason],
        LetterFilter(states: ["open"]).condition(prefix: prefix), limit: 200
      ).map { row in
        Count(
          group: row.values[0], topic: row.values[1], reasonCode: row.values[2], count: row.count,
          oldest: row.oldest, newest: row.newest)
      }
    }
  }

  /// - Throws: ``Problem`` if there is no such dead letter.
  func letter(_ text: String) async throws -> ShownLetter {
    let id = try letterID(text, field: "id")
    return try await pool.read { [prefix] connection in
      guard let letter = try found(id, connection) else { throw missing }
      return ShownLetter(
        letter, past: try LetterHistory.read(letter.id, connection), prefix: prefix,
        bytesMax: Self.bytesMax)
    }
  }

  struct Discarded: Encodable, Sendable {
    var discarded: Int64
  }

  /// Discards the open dead letters of the order; the others are skipped.
  func discard(_ order: LetterOrder, by person: String) async throws -> Discarded {
    try await change("discard", order, by: person) { condition in
      let connection = try open()
      defer { connection.close() }
      return Discarded(
        discarded: try discardLetters(connection, condition, by: person, reason: order.reason))
    }
  }

  /// Redrives the open dead letters of the order. One that fails again stays open, with another
  /// entry in its history.
  func redrive(_ order: LetterOrder, by person: String) async throws -> RedriveResult {
    try await change("redrive", order, by: person) { condition in
      let producer = EventProducer(configuration: kafka, topicPrefix: prefix)
      defer { producer.close() }
      var result = RedriveResult()
      for handler in handlers where order.ids.contains(where: { $0.group == prefix + handler.name })
      {
        let redrive = DeadLetterRedrive(
          handler: handler, topicPrefix: prefix, resolvedBy: person, resolution: order.reason,
          open: { try assume(handler, open()) }, deliver: { try producer.send($0) })
        redrive.patience = Self.patience
        defer { redrive.close() }
        try redrive.all(
          condition, limit: { Self.redriveBatch }, stepped: { result.add($0) })
      }
      return result
    }
  }

  /// Runs one change at a time. Logs it before and after, so that the log names the operator even
  /// if the change fails.
  private func change<Value: Sendable>(
    _ what: String, _ order: LetterOrder, by person: String,
    _ body: @escaping @Sendable (SQLCondition) throws -> Value
  ) async throws -> Value {
    let metadata: Logger.Metadata = [
      "operator": "\(person)", "what": "\(what)", "letters": "\(order.ids.count)",
      "first": "\(order.ids[0].description)", "reason": "\(order.reason)",
    ]
    logger.notice("an operator changes dead letters", metadata: metadata)
    do {
      let value = try await turns.run { [prefix] in
        let filter = LetterFilter(ids: order.ids, states: ["open"])
        return try body(filter.condition(prefix: prefix))
      }
      logger.notice("dead letters were changed", metadata: ["result": "\(value)"])
      return value
    } catch {
      logger.error(
        "dead letters were not all changed",
        metadata: metadata.merging(["error": "\(error)"]) { $1 })
      throw problem(error)
    }
  }

  private func open() throws -> Connection {
    try Connection(
      databaseURL, applicationName: "magpie-operate",
      statementTimeoutSeconds: Self.statementSeconds)
  }
}

private let missing = Problem(.notFound, "There is no such dead letter.", field: "id")

private func found(_ id: LetterID, _ connection: Connection) throws -> DeadLetter? {
  do {
    return try id.find(connection).first
  } catch is Failure {
    return nil
  }
}

/// Converts errors that an operator can act on to problems.
func problem(_ error: any Error) -> any Error {
  switch error {
  case let error as KafkaError: Problem(.notAcknowledged, "\(error.name): \(error.message)")
  // It does not help to try again.
  case let error as WorkerStopped: Problem(.internalError, error.reason)
  default: error
  }
}
