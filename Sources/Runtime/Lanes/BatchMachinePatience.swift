import Foundation
import Kafka

extension BatchMachine {
  /// How batches are applied outside of a lane.
  struct Means {
    /// How long failures that may pass are tried again before they are thrown. What is too much at once
    /// has a bound of its own.
    var patience: Duration
    /// Applies a batch in one transaction and returns the handler's counts. `CommitUnanswered` says
    /// that it may have been applied.
    var commit: (Batch, [TopicPartition: Ownership]?) throws -> [String: Int]
    /// What is stored of these partitions, read under their lock.
    var lookUp: ([TopicPartition]) throws -> [TopicPartition: Ownership] = { _ in [:] }
    /// Told of each batch that is committed, with the handler's counts.
    var committed: (Batch, [String: Int]) -> Void = { _, _ in }
  }

  /// Applies a batch on the calling thread.
  ///
  /// - Throws: `WorkerStopped` when only a person can help, `Fenced`, or what failed for too long.
  ///   What was committed before stays so.
  mutating func apply(_ batch: Batch, by means: Means) throws {
    var failure: (any Error)?
    var deadline: ContinuousClock.Instant?
    var counts: [String: Int] = [:]
    var action = apply(batch)
    while true {
      switch action {
      case .commit(let batch, let owned):
        do {
          counts = try means.commit(batch, owned)
          means.committed(batch, counts)
          deadline = nil
          action = handle(.committed)
        } catch let lost as CommitUnanswered {
          (counts, failure) = (lost.counts, lost.cause)
          action = handle(Input(unanswered: disposition(of: lost.cause)))
        } catch {
          failure = error
          action = handle(.failed(disposition(of: error)))
        }
      case .lookUp(let partitions):
        do {
          let stored = try means.lookUp(partitions)
          if let batch = inHand, outcome(stored) == .committed { means.committed(batch, counts) }
          action = handle(.stored(stored))
        } catch {
          failure = error
          action = handle(.failed(disposition(of: error)))
        }
      case .wait(let wait):
        let end = deadline ?? .now + means.patience
        deadline = end
        if let failure, .now >= end, !isTooMuch(failure) { throw failure }
        Thread.sleep(forTimeInterval: Double(Int.random(in: 0...wait.millisecondsMax)) / 1000)
        action = handle(.waited)
      case .finish: return
      case .yield: throw Fenced()
      case .stop(let stopped): throw stopped
      }
    }
  }
}

private func isTooMuch(_ error: any Error) -> Bool {
  if case .tooMuch = disposition(of: error) { true } else { false }
}
