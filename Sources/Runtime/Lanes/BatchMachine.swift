import Handling
package import Kafka

/// How a batch is applied: in one transaction, which is tried again when that may help; bisected
/// when some event cannot be applied, until the culprit is alone and dead-lettered; cut where the
/// handler finds it too much for one transaction; and when the answer to COMMIT was lost, by asking what
/// is stored and believing it.
///
/// A pure state machine: told outcomes, it answers what to do next. It does no I/O, reads no clock
/// and draws no lots. Lanes, replays and simulations all run this one.
package struct BatchMachine: Sendable {
  /// What to do next; its outcome is the next input.
  package enum Action: Sendable {
    /// Apply the batch in one transaction, which moves the offsets of `owned` behind the fence; nil
    /// applies it without a fence.
    case commit(Batch, owned: [TopicPartition: Ownership]?)
    /// Read what is stored of these partitions, under their lock.
    case lookUp([TopicPartition])
    case wait(Wait)
    /// The batch is applied, whole.
    case finish
    /// Somebody else owns a partition of the batch.
    case yield
    /// Only a person can help.
    case stop(WorkerStopped)
  }

  /// What became of the last action.
  package enum Input: Sendable {
    case committed
    /// COMMIT was sent and its answer lost: it may have happened.
    case unanswered(reason: String)
    case failed(Disposition)
    case stored([TopicPartition: Ownership])
    case waited

    /// COMMIT was sent, and failed like this instead of being answered.
    package init(unanswered disposition: Disposition) {
      if case .retry(let reason) = disposition {
        self = .unanswered(reason: reason)
      } else {
        self = .failed(disposition)
      }
    }
  }

  package enum State: String, CaseIterable, Sendable {
    case idle, committing, waitingToCommit, lookingUp, waitingToLookUp
  }

  /// A part of the batch in hand.
  private struct Part {
    var batch: Batch
    /// How often its only event was refused.
    var failures = 0
    /// How often its only event was too much, with the database answering after each time.
    var excesses = 0
    /// It was too much just now, for this reason; whether the database answers is being asked.
    var excess: (reason: String, message: String)?
  }

  /// How often an event is too much, alone, before it is dead-lettered. Each time takes as long as the
  /// database gives a statement, and a pause that doubles.
  package static let excessesMax = 8
  /// The same without a fence: somebody waits for it, and the dead letter says what to do.
  private static let unfencedExcessesMax = 2

  /// The partitions owned, and how far each is applied. Nil without a fence.
  package private(set) var owned: [TopicPartition: Ownership]?
  package private(set) var state = State.idle
  private var breaker: CircuitBreaker?
  /// The breaker after the part in hand.
  private var breakerAfter: CircuitBreaker?
  /// What is still to be applied; the last is in hand.
  private var parts: [Part] = []
  private var backoff = Backoff()

  /// - Parameters:
  ///   - isFenced: whether transactions move offsets, of the partitions claimed.
  ///   - breaker: when to stop for too many dead letters; nil never stops.
  package init(isFenced: Bool, breaker: CircuitBreaker?) {
    owned = isFenced ? [:] : nil
    self.breaker = breaker
  }

  /// The batch, or the part of one, that is being applied.
  package var inHand: Batch? { parts.last?.batch }

  // MARK: Partitions

  /// Takes over partitions.
  package mutating func claimed(_ partitions: [TopicPartition: Ownership]) {
    owned?.merge(partitions) { $1 }
  }

  /// Counts dead letters on from what the tables say about the records before those to come.
  package mutating func remember(_ past: DeadLetterPast) { breaker?.remember(past) }

  /// Forgets a partition that is not ours any more.
  package mutating func forget(_ partition: TopicPartition) { owned?[partition] = nil }

  // MARK: Batches

  /// Begins with a batch.
  package mutating func apply(_ batch: Batch) -> Action {
    parts = batch.items.isEmpty && batch.reach.isEmpty ? [] : [Part(batch: batch)]
    return begin()
  }

  /// Lets go of the batch in hand: it was not committed, as far as is known.
  package mutating func abandon() {
    parts = []
    state = .idle
  }

  package mutating func handle(_ input: Input) -> Action {
    switch (state, input) {
    case (.committing, .committed):
      return finishPart()
    case (.committing, .failed(.poison(let reason))):
      return isolate(reason)
    case (.committing, .failed(.tooMuch(let reason, let message))):
      return lessen(reason, message)
    case (.committing, .failed(.cut(let sizes))):
      return cut(sizes)
    case (.committing, .failed(.retry(let reason))):
      return wait(reason, .waitingToCommit)
    case (.committing, .unanswered(let reason)):
      // Without a fence there is nothing to ask: the batch is applied again, which changes nothing.
      return wait(reason, owned == nil ? .waitingToCommit : .waitingToLookUp)
    case (.waitingToCommit, .waited):
      return commit()
    case (.waitingToLookUp, .waited):
      return lookUp()
    case (.lookingUp, .failed(.retry(let reason))), (.lookingUp, .failed(.tooMuch(let reason, _))):
      // Nothing is known of a single event while the database does not even answer this.
      if let top = parts.indices.last { (parts[top].excess, parts[top].excesses) = (nil, 0) }
      return wait(reason, .waitingToLookUp)
    case (.lookingUp, .stored(let stored)):
      switch outcome(stored) {
      case .committed: return finishPart()
      case .notCommitted: return parts.last?.excess == nil ? commit() : countExcess()
      case .fenced: return .yield
      }
    case (.committing, .failed(.fenced)), (.lookingUp, .failed(.fenced)):
      return .yield
    case (.committing, .failed(.stop(let stopped))), (.lookingUp, .failed(.stop(let stopped))):
      return .stop(stopped)
    default:
      return .stop(.defect("the batch was \(state) when it was told \(input)"))
    }
  }

  /// What became of a commit whose answer was lost.
  package enum Outcome: String, Sendable {
    case committed
    case notCommitted = "not-committed"
    /// Whatever became of it, somebody else has the partition now, or moved its offset.
    case fenced
  }

  /// What the stored offsets say about the part in hand. They were read under the lock that its
  /// transaction held, so that transaction is over.
  package func outcome(_ stored: [TopicPartition: Ownership]) -> Outcome {
    guard let part = parts.last, let owned else { return .fenced }
    let nextOffsets = part.batch.nextOffsets
    let isCommitted = nextOffsets.allSatisfy { partition, next in
      stored[partition]?.nextOffset == next && stored[partition]?.epoch == owned[partition]?.epoch
    }
    if isCommitted { return .committed }
    let isUntouched = nextOffsets.keys.allSatisfy { stored[$0] == owned[$0] }
    return isUntouched ? .notCommitted : .fenced
  }

  /// The part on top is next; without one the batch is finished.
  private mutating func begin() -> Action {
    guard let part = parts.last else {
      state = .idle
      return .finish
    }
    backoff = Backoff()
    let counted = breaker?.counting(part.batch)
    breakerAfter = counted?.breaker
    if let reason = counted?.openReason {
      return .stop(
        .tooManyDeadLetters(on: part.batch.topic, reason, outlastsRestart: owned != nil))
    }
    return commit()
  }

  private mutating func commit() -> Action {
    guard let part = parts.last else { return .stop(.defect("no batch is in hand")) }
    state = .committing
    return .commit(part.batch, owned: owned)
  }

  private mutating func lookUp() -> Action {
    guard let part = parts.last else { return .stop(.defect("no batch is in hand")) }
    state = .lookingUp
    return .lookUp(Array(part.batch.nextOffsets.keys))
  }

  private mutating func wait(_ reason: String, _ state: State) -> Action {
    self.state = state
    return .wait(Wait(reason: reason, millisecondsMax: backoff.nextCeilingMilliseconds()))
  }

  private mutating func finishPart() -> Action {
    if let part = parts.popLast() {
      for (partition, next) in part.batch.nextOffsets { owned?[partition]?.nextOffset = next }
    }
    breaker = breakerAfter
    return begin()
  }

  /// The part in hand is too much for one transaction.
  private mutating func cut(_ sizes: [Int]) -> Action {
    guard let part = parts.popLast() else { return .stop(.defect("no batch is in hand")) }
    let pieces = part.batch.pieces(sizes)
    guard pieces.count > 1 else {
      return .stop(.defect("\(part.batch.eventCount) events were to be cut into \(sizes)"))
    }
    parts += pieces.reversed().map { Part(batch: $0) }
    return begin()
  }

  /// Some event of the part in hand cannot be applied.
  private mutating func isolate(_ reason: String) -> Action {
    guard var part = parts.popLast() else { return .stop(.defect("no batch is in hand")) }
    switch part.batch.eventCount {
    case 0:
      return .stop(.unwritableDeadLetters(reason))
    case 1:
      part.failures += 1
      // A concurrent transaction can make an innocent event violate a constraint once.
      if part.failures > 1 {
        let letter = DeadLetterReason(
          code: DeadLetterReason.notApplicable, message: reason, attempts: part.failures)
        part = Part(batch: part.batch.deadLettering(letter))
      }
      parts.append(part)
    default:
      let (first, second) = part.batch.halves
      parts += [Part(batch: second), Part(batch: first)]
    }
    return begin()
  }

  /// The part in hand was too much at once. Cutting it in halves is harmless, also when the database
  /// is slow for another reason. Of a single event nothing is believed before the database has
  /// answered something else.
  private mutating func lessen(_ reason: String, _ message: String) -> Action {
    guard let part = parts.last else { return .stop(.defect("no batch is in hand")) }
    switch part.batch.eventCount {
    case 0:
      return wait(reason, .waitingToCommit)
    case 1:
      parts[parts.count - 1].excess = (reason, message)
      // Without a fence nothing is stored that could be asked for.
      return owned == nil ? countExcess() : lookUp()
    default:
      parts.removeLast()
      let (first, second) = part.batch.halves
      parts += [Part(batch: second), Part(batch: first)]
      return begin()
    }
  }

  /// The event in hand was too much once more, and the database answers.
  private mutating func countExcess() -> Action {
    guard var part = parts.popLast(), let (reason, message) = part.excess else {
      return .stop(.defect("nothing was too much"))
    }
    part.excess = nil
    part.excesses += 1
    guard part.excesses >= (owned == nil ? Self.unfencedExcessesMax : Self.excessesMax) else {
      parts.append(part)
      return wait(reason, .waitingToCommit)
    }
    let letter = DeadLetterReason(
      code: DeadLetterReason.tooMuch, message: message, attempts: part.excesses)
    parts.append(Part(batch: part.batch.deadLettering(letter)))
    return begin()
  }
}

/// A pause of a random length before another attempt.
package struct Wait: Equatable, Sendable {
  /// Why: a `Disposition`'s.
  package var reason: String
  package var millisecondsMax: Int
}
