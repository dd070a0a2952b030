import Foundation
import Kafka
import Pipeline

extension ArchiveLoop {
  /// Repeats what fails for a passing reason, for ever, until asked to stop.
  func retrying<T>(_ body: () throws -> T) throws -> T {
    try status.retrying(metrics: metrics, logger: logger, reason: reasonToRetry, body)
  }
}

/// The reason to try again after `error`; throws `WorkerStopped` where that does not help.
private func reasonToRetry(_ error: any Error) throws -> String {
  switch error {
  case is WorkerStopped, is Stopping: throw error
  case let error as KafkaError where error.isRetriable: return "kafka"
  case ConsumerError.unknownTopic: return "topic"
  case let error as ArchiveError:
    switch error.code {
    case .system(let code) where passing.contains(code): return "storage"
    case .system:
      throw WorkerStopped(
        reason: "the archive cannot be written: \(error)",
        nextStep: "Nothing was lost: what is not archived is still in Kafka. Make the directory "
          + "writable for this process and start it again.")
    case .fenced, .locked:
      throw WorkerStopped(
        reason: "\(error)", nextStep: "Find out which process that is, and run only one of them.")
    case .damaged:
      throw WorkerStopped(
        reason: "the archive is damaged: \(error)",
        nextStep: "`magpie archive verify` tells all of it. Restore the file, or archive to a new "
          + "directory.")
    case .missing, .unusable:
      throw WorkerStopped(reason: "\(error)", nextStep: "Nothing was lost or written.")
    }
  default:
    throw WorkerStopped(
      reason: "\(error)", nextStep: "Check the Kafka address, the security properties and ACLs.")
  }
}

/// Errors of the file system that pass by themselves, or when somebody makes room.
private let passing: Set<Int32> = [
  ENOSPC, EDQUOT, EIO, EAGAIN, EINTR, ENOMEM, EMFILE, ENFILE, EBUSY, ETIMEDOUT, ESTALE,
]
