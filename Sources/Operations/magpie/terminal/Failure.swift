import Archive
import ArgumentParser
import EmbeddedStack
import Events
import Foundation
import Kafka
import Postgres
import Rebuild
import RecordLog
import Schema
import Workload

/// An error that ends the tool, with its exit code.
struct Failure: Error {
  enum Code: Int32 {
    case found = 1
    /// EX_USAGE of sysexits.h.
    case usage = 64
    /// EX_DATAERR of sysexits.h: a registry or catalog is invalid.
    case invalidData = 65
    /// EX_NOINPUT of sysexits.h: the log does not hold what is needed.
    case logIncomplete = 66
    /// EX_UNAVAILABLE of sysexits.h.
    case unavailable = 69
    /// EX_IOERR of sysexits.h: a file or standard output failed while it was read or written.
    case inputOutput = 74
  }

  var code: Code
  /// The cause and the next step.
  var message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Decides the exit code of every error; no other place does.
  init(_ error: any Error) {
    switch error {
    case let error as Failure: self = error
    case let error as KafkaError: self.init(kafka: error)
    case let error as ConsumerError: self.init(consumer: error)
    case let error as PostgresError: self.init(postgres: error)
    case let error as SchemaError:
      self.init(error.code == .missing ? .unavailable : .found, error.description)
    case let error as ArchiveError: self.init(archive: error)
    case let error as RebuildError:
      self.init(error.isLogIncomplete ? .logIncomplete : .found, error.description)
    case let error as RecordLogError: self.init(log: error)
    case let error as LDBCError:
      self.init(error.isUnreadable ? .usage : .found, error.description)
    case let error as StackError:
      self.init(error.isUsage ? .usage : .unavailable, error.description)
    case let error as UnwritableFile: self.init(.inputOutput, error.description)
    default: self.init(.found, String(describing: error))
    }
  }

  private init(archive error: ArchiveError) {
    switch error.code {
    case .damaged: self.init(.found, error.description)
    case .missing, .locked, .fenced, .system: self.init(.unavailable, error.description)
    case .unusable: self.init(.usage, error.description)
    }
  }

  private init(log error: RecordLogError) {
    switch error {
    case .unknownTopic:
      self.init(
        .unavailable,
        "\(error). Is --topic-prefix right, and may the Kafka user Describe the topic? `magpie topics` creates it."
      )
    case .stalled:
      self.init(
        .unavailable, "\(error)\nCheck that the partition has a leader, and run this again.")
    case .notHeld:
      self.init(
        .logIncomplete,
        "\(error)\nIf an archive of this log holds them, pass it with --archive.")
    case .gap(let partition, let missing):
      self.init(
        .logIncomplete,
        """
        \(error): Kafka deleted them before they were archived.
        To go on without them, record the gap, unless `magpie archive show` lists it: magpie archive \
        accept-gap --dir DIR --topic \(partition.topic) --partition \(partition.partition) \
        --up-to \(missing.upperBound)
        Then run `magpie replay` with --accept-missing-records. The tables lack what these records said.
        """)
    }
  }

  /// A file that cannot be written: the path is at fault, or else the disk.
  init(unwritable path: String, _ error: any Error) {
    let isDisk = [.fileWriteOutOfSpace, .fileWriteUnknown].contains((error as? CocoaError)?.code)
    self.init(
      isDisk ? .inputOutput : .usage, "\(path) cannot be written: \(systemReason(error))")
  }

  private init(consumer error: ConsumerError) {
    switch error {
    case .maxPollExceeded(let error), .other(let error): self.init(kafka: error)
    case .unknownTopic, .fatal, .unreadable: self.init(.unavailable, error.description)
    case .offsetOutOfRange: self.init(.logIncomplete, error.description)
    }
  }

  private init(kafka error: KafkaError) {
    let message = "\(error.name): \(error.message)"
    switch error.code {
    case .invalidArgument: self.init(.usage, message)
    case .authenticationFailed, .tls:
      self.init(
        .unavailable, "Kafka at \(error.bootstrap): \(error.message) (docs/deploy.md).")
    case .transport, .allBrokersDown, .timedOut, .messageTimedOut:
      let why = KafkaComplaints.last.map { "; \($0)" } ?? ""
      self.init(
        .unavailable,
        "Kafka at \(error.bootstrap) does not answer (\(message)\(why)).\nIs it running, and is "
          + "MAGPIE_KAFKA_BOOTSTRAP right? `magpie up` starts a broker and prints its address.")
    case _ where error.isDenied:
      self.init(
        .unavailable,
        "\(error)\nGrant the Kafka user this right: docs/operators.md lists what commands need.")
    default: self.init(error.isRetriable ? .unavailable : .found, error.description)
    }
  }

  private init(postgres error: PostgresError) {
    switch (error.code, error.sqlstate) {
    case (_, "28P01"), (_, "28000"):
      self.init(
        .unavailable, "\(error.message)\nCheck user and password in MAGPIE_DATABASE_URL.")
    case (.untrusted, _):
      self.init(.unavailable, "\(error.message)\nWhat to check: \(error.hint ?? "sslmode").")
    case (.connection, _):
      self.init(
        .unavailable,
        "\(error.message)\nIs MAGPIE_DATABASE_URL right? `magpie up` starts a PostgreSQL and "
          + "prints its URL.")
    case (.usage, _): self.init(.usage, error.message)
    // No such table or function.
    case (_, "42P01"), (_, "42883"):
      self.init(
        .unavailable, "This database lacks Magpie's schema (\(error.message)). Run: magpie migrate")
    case (_, "42501"):
      self.init(
        .unavailable,
        "\(error)\nUse a login that may do this: the tables' owner, or magpie_operator of "
          + "`magpie setup`.")
    case (_, "25006"):
      self.init(.unavailable, "\(error)\nConnect to the primary: this may be a standby.")
    case (_, "57014"):
      self.init(
        .unavailable, "\(error)\nIt took too long, or somebody cancelled it. Run this again.")
    case (_, let state?) where state.hasPrefix("53"):
      self.init(
        .unavailable, "\(error)\nThe server lacks memory, disk or connections. Run this again.")
    default: self.init(.found, error.description)
    }
  }

  func exit() -> Never {
    Console.error.write("magpie: \(escapedForDisplay(message, keepingNewlines: true))\n")
    Foundation.exit(code.rawValue)
  }
}
