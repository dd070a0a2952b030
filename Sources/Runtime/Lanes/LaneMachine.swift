package import Events
package import Kafka

/// Decides what a lane does: it joins the consumer group, claims its partitions, applies polled
/// batches, works on the backlog, and leaves the group when it is fenced, to join again.
///
/// A pure state machine: no I/O, no clock, no randomness. Each input is the result of the last action;
/// the answer is the next action. `Lane` performs the actions on Kafka and PostgreSQL, the simulation
/// on models of them. `BatchMachine` decides how a batch is applied.
package struct LaneMachine: Sendable {
  /// The next action. Its result is the next input.
  package enum Action: Sendable {
    /// Open the database connection.
    case connect
    /// Join the consumer group.
    case join
    /// Poll. Assignments and revocations during the poll are inputs of their own. Without `waits`, take
    /// only records that have already arrived.
    case poll(waits: Bool)
    /// Fail if a topic does not exist: the assignment was empty.
    case checkTopics
    /// Get the log start offsets of these partitions.
    case askLogStarts([TopicPartition])
    /// Claim partitions. The offsets apply to partitions without a stored offset.
    case claim([TopicPartition: Int64])
    /// Continue the poll. Newly assigned partitions start at these offsets.
    case resumePoll([TopicPartition: Int64])
    /// Take a step of a batch, or of a claim: commit, look up stored offsets, or wait.
    case step(BatchMachine.Step)
    case workOnBacklog
    /// Compare the stored offsets and epochs with these, without a lock.
    case compare([TopicPartition: Ownership])
    /// Leave the consumer group.
    case leave(rejoins: Bool)
    /// Return: the lane was asked to stop.
    case end
    /// Only an operator can help.
    case stop(WorkerStopped)

    /// For the log.
    var activity: String {
      switch self {
      case .connect: "connecting to the database"
      case .join: "joining the group"
      case .poll: "polling"
      case .checkTopics: "checking the topics"
      case .askLogStarts: "asking for log start offsets"
      case .claim: "claiming partitions"
      case .resumePoll: "continuing to poll"
      case .step(.commit): "committing a batch"
      case .step(.lookUp): "looking up offsets"
      case .step(.wait): "waiting to try again"
      case .workOnBacklog: "working on the backlog"
      case .compare: "comparing offsets"
      case .leave: "leaving the group"
      case .end, .stop: "ending"
      }
    }
  }

  /// The result of the last action, or an event during a poll.
  package enum Input: Sendable {
    case connected
    case joined
    /// The poll is over. `isReachable` says whether Kafka responds.
    case polled([Record], isReachable: Bool)
    case assigned([TopicPartition])
    /// Revoked or lost.
    case withdrawn([TopicPartition])
    case topicsExist
    case logStarts([TopicPartition: Int64])
    /// The claimed partitions, and the outcome of the records before their offsets.
    case claimed([TopicPartition: Ownership], past: DeadLetterPast)
    case committed
    /// COMMIT was sent and its response lost: the transaction may have been committed.
    case unanswered(reason: String)
    case stored([TopicPartition: Ownership])
    case waited
    case backlogDone(hasMore: Bool)
    /// Whether the stored offsets and epochs are the lane's.
    case compared(isOwner: Bool)
    case left
    case failed(Disposition)

    /// The input after a COMMIT that failed with `disposition` instead of a response.
    package init(unanswered disposition: Disposition) {
      if case .retry(let reason) = disposition {
        self = .unanswered(reason: reason)
      } else {
        self = .failed(disposition)
      }
    }
  }

  package enum State: Sendable {
    case new
    case connecting(Backoff)
    case waitingToConnect(Backoff)
    case joining
    case waitingToJoin(Backoff)
    case polling
    // Within a poll, after an assignment.
    case checkingTopics
    case lookingUp(Assignment)
    case askingLogStarts(Assignment, stored: [TopicPartition: Ownership])
    case claiming(Assignment)
    case waitingToClaim(Assignment)
    /// `batches` applies a batch of the last poll; `queue` holds those after it, the next one last.
    case applying(BatchMachine.State, queue: [Batch])
    case workingOnBacklog(then: AfterBacklog)
    case comparing
    case leaving(Ending)
    case over
  }

  /// Partitions that were assigned and are not claimed yet.
  package struct Assignment: Sendable {
    var partitions: [TopicPartition]
    var backoff = Backoff()
  }

  package enum AfterBacklog: Sendable {
    /// Batches of the last poll remain, the next one last.
    case apply(queue: [Batch])
    /// All batches are applied. `isIdle` says that the poll returned no records.
    case endRound(isIdle: Bool)
  }

  /// What follows after leaving the group.
  package enum Ending: Sendable {
    case rejoin, end
    case stop(WorkerStopped)
  }

  /// The configuration of a lane.
  package struct Plan: Sendable {
    /// By their names in Kafka.
    package var topics: [String: Topic]
    /// The maximum number of records of a topic in one transaction.
    package var recordsMax: [Topic: Int] = [:]
    package var hasBacklog = false
    /// Whether the backlog becomes due by the clock, and so is looked at more often.
    package var isTimed = false
    package var breaker: CircuitBreaker?
    /// Decodes a record; a pure function.
    package var decode: @Sendable (Record, Topic) -> Batch.Item

    package init(
      topics: [String: Topic], breaker: CircuitBreaker?,
      decode: @escaping @Sendable (Record, Topic) -> Batch.Item
    ) {
      self.topics = topics
      self.breaker = breaker
      self.decode = decode
    }
  }

  package let plan: Plan
  package internal(set) var state = State.new
  var batches: BatchMachine
  /// Whether a batch could be committed now, according to the last responses.
  package var isReady: Bool { isKafkaThere && isDatabaseThere }
  /// The last request to Kafka succeeded.
  var isKafkaThere = false
  /// The last request to the database succeeded.
  var isDatabaseThere = false
  /// Set to end the lane at the next safe point.
  package var isStopping = false

  /// Delays joining after a failed join, and after a membership without a committed batch and a
  /// successful comparison: a lane that cannot keep a membership must not make the group rebalance
  /// continually. Nil once the membership has had one of them.
  private var joinBackoff: Backoff? = Backoff()

  /// Whether the group's last applied record was found in the log of this membership, or a record of it
  /// was applied. Otherwise the lane may be connected to another cluster or to recreated topics, and the
  /// events of a piece of backlog, published there, would be lost for the right one.
  package var isLogRecognized = false
  /// When the membership's first partitions were claimed.
  var firstClaim: Int64?
  /// The last piece of backlog said that there is more.
  var backlogIsWaiting = false
  var nextBacklog = Int64.min
  var nextComparison = Int64.min

  package init(_ plan: Plan) {
    self.plan = plan
    batches = BatchMachine(isFenced: true, breaker: plan.breaker)
  }

  package var owned: [TopicPartition: Ownership] { batches.owned ?? [:] }

  /// The part of a batch that is being applied.
  package var inHand: Batch? {
    if case .applying(let batch, _) = state { batch.inHand } else { nil }
  }

  /// Whether records of the last poll wait to be applied while the lane works on its backlog.
  package var holdsRecords: Bool {
    if case .workingOnBacklog(then: .apply(let queue)) = state { !queue.isEmpty } else { false }
  }

  /// The outcome of committing the part in hand, derived from the stored offsets.
  package func outcome(_ stored: [TopicPartition: Ownership]) -> BatchMachine.Outcome? {
    inHand.map { batches.outcome(of: $0, stored) }
  }

  /// Whether the offsets are looked up because a commit had no response, and not because an event has exceeded a limit.
  package var isInDoubt: Bool {
    if case .applying(.lookingUp(_, excess: nil), _) = state { true } else { false }
  }

  package mutating func start() -> Action {
    state = .connecting(Backoff())
    return .connect
  }

  /// - Parameter now: milliseconds of any monotonic clock.
  package mutating func handle(_ input: Input, at now: Int64) -> Action {
    // Only a batch can be bisected.
    if case .failed(.tooMuch(let reason, _)) = input, inHand == nil {
      return handle(.failed(.retry(reason: reason)), at: now)
    }
    switch (state, input) {
    case (.comparing, .failed(let disposition)):
      // The offsets are unknown; the next comparison or batch tells.
      if case .retry(let reason) = disposition { note(reason) } else { isDatabaseThere = false }
      return poll()
    case (_, .failed(.stop(let stopped))):
      return leave(.stop(stopped))

    case (.connecting, .connected):
      isDatabaseThere = true
      return join()
    case (.connecting(let backoff), .failed(.retry(let reason))):
      return wait(reason, backoff, State.waitingToConnect)
    case (.waitingToConnect(let backoff), .waited):
      if isStopping { return leave(.end) }
      state = .connecting(backoff)
      return .connect
    case (.joining, .joined):
      // Before a stop, too: the lane now has a group to leave.
      state = .polling
      return poll()
    case (.joining, .failed(.retry(let reason))):
      return wait(reason, joinBackoff ?? Backoff(), State.waitingToJoin)
    case (.waitingToJoin(let backoff), .waited):
      joinBackoff = backoff
      return isStopping ? leave(.end) : join()

    case (.polling, .assigned(let partitions)):
      return assign(partitions)
    case (.polling, .withdrawn(let partitions)), (.leaving, .withdrawn(let partitions)):
      for partition in partitions { batches.forget(partition) }
      return .resumePoll([:])
    case (.leaving, .assigned):
      return .resumePoll([:])
    case (.polling, .polled(let records, let isReachable)):
      isKafkaThere = isReachable
      return nextBatch(split(records).reversed(), isIdle: records.isEmpty, at: now)
    case (.polling, .failed(.retry)):
      // librdkafka retries by itself.
      isKafkaThere = false
      return endRound(isIdle: true, at: now)
    case (.polling, .failed(.fenced)):
      isKafkaThere = false
      return leave(.rejoin)

    case (.checkingTopics, _), (.lookingUp, _), (.askingLogStarts, _), (.claiming, _),
      (.waitingToClaim, _):
      return handleWhileClaiming(input, at: now)
    case (.applying(let batch, let queue), _):
      if case .waited = input, isStopping { return leave(.end) }
      switch input {
      case .committed:
        (isKafkaThere, isDatabaseThere) = (true, true)
        joinBackoff = nil
        isLogRecognized = true
      case .stored: isDatabaseThere = true
      default: break
      }
      return follow(batches.handle(input, in: batch), queue: queue, at: now)
    case (.workingOnBacklog(let next), _):
      return handleBacklog(input, then: next, at: now)

    case (.comparing, .compared(let isOwner)):
      isDatabaseThere = true
      guard isOwner else { return leave(.rejoin) }
      joinBackoff = nil
      return poll()

    case (.leaving(let ending), .left):
      for partition in owned.keys { batches.forget(partition) }
      return next(after: ending)
    default:
      return leave(.stop(.unexpected(input, in: state)))
    }
  }

  /// Drops the batch in hand, and leaves the group if it was joined.
  mutating func leave(_ ending: Ending) -> Action {
    switch state {
    case .new, .connecting, .waitingToConnect, .joining, .waitingToJoin, .leaving, .over:
      return next(after: ending)
    default:
      state = .leaving(ending)
      if case .rejoin = ending { return .leave(rejoins: true) }
      return .leave(rejoins: false)
    }
  }

  private mutating func next(after ending: Ending) -> Action {
    switch ending {
    case .rejoin where !isStopping:
      guard let backoff = joinBackoff else {
        joinBackoff = Backoff()
        return join()
      }
      return wait("kafka", backoff, State.waitingToJoin)
    case .rejoin, .end:
      state = .over
      return .end
    case .stop(let stopped):
      state = .over
      return .stop(stopped)
    }
  }

  private mutating func join() -> Action {
    state = .joining
    (isLogRecognized, firstClaim, backlogIsWaiting) = (false, nil, false)
    return .join
  }

  mutating func poll() -> Action {
    if isStopping { return leave(.end) }
    state = .polling
    return .poll(waits: !backlogIsWaiting)
  }

  mutating func wait(_ reason: String, _ backoff: Backoff, _ waiting: (Backoff) -> State) -> Action
  {
    var backoff = backoff
    let wait = Wait(reason: reason, millisecondsMax: backoff.nextCeilingMilliseconds())
    state = waiting(backoff)
    note(reason)
    return .step(.wait(wait))
  }

  /// Marks Kafka or the database as unavailable, according to the reason for a retry.
  mutating func note(_ reason: String) {
    guard makesUnready(reason) else { return }
    if reason == "kafka" { isKafkaThere = false } else { isDatabaseThere = false }
  }
}
