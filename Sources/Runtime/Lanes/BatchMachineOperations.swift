import Foundation
import Kafka

extension BatchMachine {
  /// Performs the steps of a batch that is applied outside of a lane.
  struct Operations {
    /// How long transient failures are retried before they are thrown. Attempts that exceed a limit
    /// have a bound of their own.
    var patience: Duration
    /// Applies a batch in one transaction and returns the handler's counts. Throws `CommitUnanswered`
    /// if the transaction may have been committed.
    var commit: (Batch, [TopicPartition: Ownership]?) throws -> [String: Int]
    /// Reads the stored offsets and epochs of these partitions, under their row locks.
    var lookUp: ([TopicPartition]) throws -> [TopicPartition: Ownership] = { _ in [:] }
    /// Called after each committed batch, with the handler's counts.
    var committed: (Batch, [String: Int]) -> Void = { _, _ in }
  }

  /// Applies a batch on the calling thread.
  ///
  /// - Throws: `WorkerStopped` when only an operator can help, `Fenced`, or a failure that outlasted
  ///   `patience`. Parts committed before remain committed.
  mutating func apply(_ batch: Batch, by operations: Operations) throws {
    var failure: (any Error)?
    var deadline: ContinuousClock.Instant?
    var counts: [String: Int] = [:]
    var action = apply([Part(batch: batch)])
    while true {
      switch action {
      case .step(.commit(let batch, let owned), let state):
        do {
          counts = try operations.commit(batch, owned)
          operations.committed(batch, counts)
          deadline = nil
          action = handle(.committed, in: state)
        } catch let lost as CommitUnanswered {
          (counts, failure) = (lost.counts, lost.cause)
          action = handle(Input(unanswered: disposition(of: lost.cause)), in: state)
        } catch {
          failure = error
          action = handle(.failed(disposition(of: error)), in: state)
        }
      case .step(.lookUp(let partitions), let state):
        do {
          let stored = try operations.lookUp(partitions)
          if outcome(of: state.inHand, stored) == .committed {
            operations.committed(state.inHand, counts)
          }
          action = handle(.stored(stored), in: state)
        } catch {
          failure = error
          action = handle(.failed(disposition(of: error)), in: state)
        }
      case .step(.wait(let wait), let state):
        let end = deadline ?? .now + operations.patience
        deadline = end
        if let failure, .now >= end, !isTooMuch(failure) { throw failure }
        Thread.sleep(forTimeInterval: Double(Int.random(in: 0...wait.millisecondsMax)) / 1000)
        action = handle(.waited, in: state)
      case .finished: return
      case .fenced: throw Fenced()
      case .stop(let stopped): throw stopped
      }
    }
  }
}

private func isTooMuch(_ error: any Error) -> Bool {
  if case .tooMuch = disposition(of: error) { true } else { false }
}
