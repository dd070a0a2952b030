import Foundation
import Kafka
import Logging
import Pipeline

extension ArchiveLoop {
  /// Repeats what fails for a passing reason, for ever, until asked to stop.
  func retrying<T>(_ body: () throws -> T) throws -> T {
    var backoff = Backoff()
    while true {
      do {
        let result = try body()
        status.isReady = true
        return result
      } catch {
        let reason = try reasonToRetry(error)
        metrics.increment(.retries, [reason])
        status.isReady = false
        logger.warning("trying again", metadata: ["error": "\(error)"])
        try wait(milliseconds: backoff.nextDelayMilliseconds())
      }
    }
  }

  /// Sleeps in steps short enough for the watchdog and for a stop.
  private func wait(milliseconds: Int) throws {
    let end = ContinuousClock.now + .milliseconds(milliseconds)
    repeat {
      if status.isStopping { throw Stopping() }
      status.beat()
      Thread.sleep(forTimeInterval: 0.02)
    } while ContinuousClock.now < end
  }
}

/// The reason to try again after `error`; throws `WorkerStopped` where that does not help.
private func reasonToRetry(_ error: any Error) throws -> String {
  switch error {
  case is WorkerStopped, is Stopping: throw error
  case let error as KafkaError where error.isRetriable: return "kafka"
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
