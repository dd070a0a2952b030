package import Kafka

/// Decides how a batch is applied: in one transaction, repeated while that may help. A batch with an
/// event that cannot be applied is bisected until that event is alone and dead-lettered; a batch that
/// is too much for one transaction is split. When the response to COMMIT is lost, the stored offsets
/// decide whether the batch was committed.
///
/// A pure state machine: no I/O, no clock, no randomness. Lanes, replays and simulations all run it.
package struct BatchMachine: Sendable {
  package typealias Input = LaneMachine.Input

  /// One step towards applying a batch. Its result is the next input.
  package enum Step: Sendable {
    /// Apply the batch in one transaction that also advances the offsets of `owned` behind the fence.
    /// Nil applies it without a fence.
    case commit(Batch, owned: [TopicPartition: Ownership]?)
    /// Read the stored offsets and epochs of these partitions, under their row locks.
    case lookUp([TopicPartition])
    case wait(Wait)
  }

  package enum Action: Sendable {
    /// Take the step, and feed its result to `handle` with this state.
    case step(Step, State)
    /// All of the batch is applied.
    case finished
    /// Another process owns a partition of the batch.
    case fenced
    /// Only an operator can help.
    case stop(WorkerStopped)
  }

  package enum State: Sendable {
    case committing(Progress)
    case waitingToCommit(Progress)
    /// `excess` is set if the event in hand has just exceeded a limit: a response to the look-up shows
    /// that the database works, and the attempt counts.
    case lookingUp(Progress, excess: Excess?)
    case waitingToLookUp(Progress)

    /// The part of the batch that is being applied.
    package var inHand: Batch {
      switch self {
      case .committing(let progress), .waitingToCommit(let progress), .lookingUp(let progress, _),
        .waitingToLookUp(let progress):
        progress.part.batch
      }
    }
  }

  /// A batch of which some part is not applied yet.
  package struct Progress: Sendable {
    /// The part being applied.
    fileprivate(set) var part: Part
    /// The parts after it, the next one last.
    fileprivate(set) var rest: [Part]
    /// The circuit breaker after `part`.
    fileprivate(set) var breaker: CircuitBreaker?
    fileprivate(set) var backoff = Backoff()
  }

  struct Part: Sendable {
    var batch: Batch
    /// How often its only event was rejected.
    var failures = 0
    /// How often its only event exceeded a limit while the database responded to other queries.
    var excesses = 0
  }

  /// A statement exceeded a limit on time or memory.
  package struct Excess: Sendable {
    fileprivate(set) var reason: String
    fileprivate(set) var message: String
  }

  /// How often a single event may exceed a limit before it is dead-lettered. Each attempt takes up to
  /// the statement timeout, plus a backoff that doubles.
  package static let excessesMax = 8
  /// The same without a fence: an operator is waiting, and the dead letter says what to do.
  private static let unfencedExcessesMax = 2

  /// The claimed partitions, and how far each is applied. Nil without a fence.
  package private(set) var owned: [TopicPartition: Ownership]?
  private var breaker: CircuitBreaker?

  /// - Parameters:
  ///   - isFenced: whether transactions advance the offsets of the claimed partitions.
  ///   - breaker: when to stop because of too many dead letters; nil never stops.
  package init(isFenced: Bool, breaker: CircuitBreaker?) {
    owned = isFenced ? [:] : nil
    self.breaker = breaker
  }

  // MARK: Partitions

  package mutating func claimed(_ partitions: [TopicPartition: Ownership]) {
    owned?.merge(partitions) { $1 }
  }

  /// Continues the count of dead letters from the stored records before the claimed offsets.
  package mutating func remember(_ past: DeadLetterPast) { breaker?.remember(past) }

  /// Removes a partition that was revoked.
  package mutating func forget(_ partition: TopicPartition) { owned?[partition] = nil }

  // MARK: Batches

  /// Applies the last of `parts`, then those before it.
  ///
  /// - Parameter backoff: of the last part's earlier attempts.
  func apply(_ parts: [Part], backoff: Backoff = Backoff()) -> Action {
    guard let part = parts.last else { return .finished }
    // The count is kept once the part is committed.
    let counted = breaker?.counting(part.batch)
    if let reason = counted?.openReason {
      return .stop(
        .tooManyDeadLetters(on: part.batch.topic, reason, outlastsRestart: owned != nil))
    }
    let progress = Progress(
      part: part, rest: Array(parts.dropLast()), breaker: counted?.breaker, backoff: backoff)
    return .step(.commit(part.batch, owned: owned), .committing(progress))
  }

  package mutating func handle(_ input: Input, in state: State) -> Action {
    switch (state, input) {
    case (.committing(let progress), .committed):
      return finish(progress)
    case (.committing(let progress), .failed(.poison(let reason, let code))):
      return isolate(progress, reason, code)
    case (.committing(let progress), .failed(.tooMuch(let reason, let message))):
      return lessen(progress, Excess(reason: reason, message: message))
    case (.committing(let progress), .failed(.cut(let sizes))):
      let pieces = progress.part.batch.pieces(sizes)
      guard pieces.count > 1 else {
        return .stop(
          .defect("\(progress.part.batch.eventCount) events cannot be cut into \(sizes)"))
      }
      return apply(progress.rest + pieces.reversed().map { Part(batch: $0) })
    case (.committing(let progress), .failed(.retry(let reason))):
      return wait(reason, progress, State.waitingToCommit)
    case (.committing(let progress), .unanswered(let reason)):
      // Without a fence no stored offset can tell. Applying the batch again changes nothing.
      return wait(
        reason, progress, owned == nil ? State.waitingToCommit : State.waitingToLookUp)
    case (.waitingToCommit(let progress), .waited):
      return retry(progress)
    case (.waitingToLookUp(let progress), .waited):
      return lookUp(progress)
    case (.lookingUp(var progress, _), .failed(.retry(let reason))),
      (.lookingUp(var progress, _), .failed(.tooMuch(let reason, _))):
      // The event is not to blame while the database does not respond to this query either.
      progress.part.excesses = 0
      return wait(reason, progress, State.waitingToLookUp)
    case (.lookingUp(let progress, let excess), .stored(let stored)):
      switch outcome(of: progress.part.batch, stored) {
      case .committed: return finish(progress)
      case .notCommitted:
        if let excess { return count(excess, progress) }
        return retry(progress)
      case .fenced: return .fenced
      }
    case (.committing, .failed(.fenced)), (.lookingUp, .failed(.fenced)):
      return .fenced
    case (.committing, .failed(.stop(let stopped))), (.lookingUp, .failed(.stop(let stopped))):
      return .stop(stopped)
    default:
      return .stop(.unexpected(input, in: state))
    }
  }

  /// The outcome of a commit whose response was lost.
  package enum Outcome: String, Sendable {
    case committed
    case notCommitted = "not-committed"
    /// Another process has claimed the partition since, or its offset was moved.
    case fenced
  }

  /// Derives the outcome of committing `batch` from the stored offsets. They were read under the lock
  /// that its transaction held, so that transaction is over.
  func outcome(of batch: Batch, _ stored: [TopicPartition: Ownership]) -> Outcome {
    guard let owned else { return .fenced }
    let nextOffsets = batch.nextOffsets
    let isCommitted = nextOffsets.allSatisfy { partition, next in
      stored[partition]?.nextOffset == next && stored[partition]?.epoch == owned[partition]?.epoch
    }
    if isCommitted { return .committed }
    let isUntouched = nextOffsets.keys.allSatisfy { stored[$0] == owned[$0] }
    return isUntouched ? .notCommitted : .fenced
  }

  private func retry(_ progress: Progress) -> Action {
    apply(progress.rest + [progress.part], backoff: progress.backoff)
  }

  private func lookUp(_ progress: Progress, excess: Excess? = nil) -> Action {
    .step(
      .lookUp(Array(progress.part.batch.nextOffsets.keys)), .lookingUp(progress, excess: excess))
  }

  private func wait(
    _ reason: String, _ progress: Progress, _ waiting: (Progress) -> State
  ) -> Action {
    var progress = progress
    let wait = Wait(reason: reason, millisecondsMax: progress.backoff.nextCeilingMilliseconds())
    return .step(.wait(wait), waiting(progress))
  }

  private mutating func finish(_ progress: Progress) -> Action {
    for (partition, next) in progress.part.batch.nextOffsets {
      owned?[partition]?.nextOffset = next
    }
    breaker = progress.breaker
    return apply(progress.rest)
  }

  /// An event of the part in hand cannot be applied.
  private func isolate(_ progress: Progress, _ reason: String, _ code: String) -> Action {
    var part = progress.part
    switch part.batch.eventCount {
    case 0:
      return .stop(.unwritableDeadLetters(reason))
    case 1:
      part.failures += 1
      // A concurrent transaction can make a valid event violate a constraint once.
      if part.failures > 1 {
        let letter = DeadLetterReason(code: code, message: reason, attempts: part.failures)
        part = Part(batch: part.batch.deadLettering(letter))
      }
      return apply(progress.rest + [part])
    default:
      return bisect(progress)
    }
  }

  /// The part in hand exceeded a limit. Bisecting it is harmless even if the database is slow for
  /// another reason. A single event is blamed only after the database has responded to another query.
  private func lessen(_ progress: Progress, _ excess: Excess) -> Action {
    switch progress.part.batch.eventCount {
    case 0: wait(excess.reason, progress, State.waitingToCommit)
    // Without a fence there is no stored offset to look up.
    case 1: owned == nil ? count(excess, progress) : lookUp(progress, excess: excess)
    default: bisect(progress)
    }
  }

  private func bisect(_ progress: Progress) -> Action {
    let (first, second) = progress.part.batch.halves
    return apply(progress.rest + [Part(batch: second), Part(batch: first)])
  }

  /// The event in hand exceeded a limit again, and the database responds to other queries.
  private func count(_ excess: Excess, _ progress: Progress) -> Action {
    var progress = progress
    progress.part.excesses += 1
    let excesses = progress.part.excesses
    guard excesses >= (owned == nil ? Self.unfencedExcessesMax : Self.excessesMax) else {
      return wait(excess.reason, progress, State.waitingToCommit)
    }
    let letter = DeadLetterReason(
      code: DeadLetterReason.tooMuch, message: excess.message, attempts: excesses)
    return apply(progress.rest + [Part(batch: progress.part.batch.deadLettering(letter))])
  }
}

/// A pause of random length before another attempt.
package struct Wait: Equatable, Sendable {
  /// The reason of a `Disposition`.
  package var reason: String
  package var millisecondsMax: Int
}
