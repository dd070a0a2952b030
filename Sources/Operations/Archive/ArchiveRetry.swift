import Foundation
import Kafka
import Lanes

extension ArchiveLoop {
  /// Retries transient errors without limit until asked to stop.
  func retrying<T>(_ body: () throws -> T) throws -> T {
    try status.retrying(metrics: metrics, logger: logger, reason: reasonToRetry, body)
  }
}

/// The reason to retry after `error`. Throws `WorkerStopped` if retrying cannot help.
private func reasonToRetry(_ error: any Error) throws -> String {
  switch error {
  case is WorkerStopped, is Stopping: throw error
  case let error as KafkaError where error.isRetriable: return "kafka"
  case ConsumerError.unknownTopic: return "topic"
  case let error as ArchiveError:
    switch error.code {
    case .system(let code) where transientErrors.contains(code): return "storage"
    case .system:
      throw WorkerStopped(
        reason: "the archive cannot be written: \(error)",
        nextStep: "Nothing was lost: unarchived records are still in Kafka. Make the directory "
          + "writable for this process and restart it.")
    case .fenced, .locked:
      throw WorkerStopped(
        reason: "\(error)", nextStep: "Find the other process and run only one of them.")
    case .damaged:
      throw WorkerStopped(
        reason: "the archive is damaged: \(error)",
        nextStep: "`magpie archive verify` lists all damage. Restore the file, or archive to a new "
          + "directory.")
    case .missing, .unusable:
      throw WorkerStopped(reason: "\(error)", nextStep: "Nothing was lost or written.")
    }
  default:
    throw WorkerStopped(
      reason: "\(error)", nextStep: "Check the Kafka address, the security properties and ACLs.")
  }
}

/// File system errors that resolve by themselves or once disk space is freed.
private let transientErrors: Set<Int32> = [
  ENOSPC, EDQUOT, EIO, EAGAIN, EINTR, ENOMEM, EMFILE, ENFILE, EBUSY, ETIMEDOUT, ESTALE,
]
