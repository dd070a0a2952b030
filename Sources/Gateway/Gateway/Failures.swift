import Kafka
import Lanes
import MagpieProducer
import Postgres
import Schema

extension Problem {
  /// Kafka was asked for end offsets in vain.
  static let kafkaIsSilent = Problem(
    .notAppliedYet, "Kafka did not say how far it is.", field: "Magpie-After")

  /// Maps an error of a lower layer to the problem that the client gets.
  init(_ error: any Error) {
    switch error {
    case let problem as Problem: self = problem
    case let error as PostgresError: self.init(error)
    case let error as PublishError: self.init(error)
    case is SchemaError:
      self.init(.databaseUnavailable, "The database's schema is not the gateway's.")
    case is KafkaError:
      self = .kafkaIsSilent
    case is CancellationError: self.init(.overloaded, "The gateway stops.")
    default: self.init(.internalError, "The error is unknown.")
    }
  }

  private init(_ error: PostgresError) {
    switch error.sqlstate {
    // The page functions raise it for a cursor that is malformed or belongs to another list.
    case "22P02": self.init(.invalidParameter, "It is not a cursor of this list.", field: "cursor")
    case "57014": self.init(.databaseUnavailable, "The database took too long.")
    // The server is shutting down or out of a resource (connections, disk, memory), or a query on a replica conflicts with
    // replay.
    case "57P01", "57P02", "57P03", "53000", "53100", "53200", "53300", "53400", "40001":
      self.init(.databaseUnavailable, "The database has no time for it.")
    default:
      switch error.code {
      case .connection, .untrusted:
        self.init(.databaseUnavailable, "The database cannot be reached.")
      case .server, .protocol, .decoding, .usage:
        self.init(.internalError, "The database refused the query.")
      }
    }
  }

  private init(_ error: PublishError) {
    switch error {
    case .invalid(let error): self.init(error)
    case .notDelivered, .pending, .flushNeeded, .closed:
      self.init(
        .notAcknowledged,
        "It may be stored nevertheless. Repeat it with the same Idempotency-Key and Magpie-Time.")
    }
  }
}
