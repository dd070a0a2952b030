package import Events
package import Kafka

/// What a lane does: joins the consumer group, claims what it is assigned, applies what it polls,
/// works on the backlog, leaves when somebody else has taken over, and starts again.
///
/// A pure state machine: told outcomes, it answers what to do next. It does no I/O, reads no clock
/// and draws no lots; `Lane` performs its actions on Kafka and PostgreSQL, and the simulation on
/// models of them. `BatchMachine` is its part that applies a batch.
package struct LaneMachine: Sendable {
  /// What to do next; its outcome is the next input.
  package enum Action: Sendable {
    /// Open the connection to the database.
    case connect
    /// Join the consumer group.
    case join
    /// Poll; partitions that are assigned or withdrawn meanwhile are inputs of their own. Not
    /// waiting means to take only what is there.
    case poll(waits: Bool)
    /// Throw if a topic does not exist: nothing was assigned.
    case checkTopics
    /// Read what is stored of these partitions, under their lock.
    case lookUp([TopicPartition])
    /// Ask for the first offsets of these partitions' logs.
    case askLogStarts([TopicPartition])
    /// Become the owner; the offsets are where to begin in partitions that nothing is stored of.
    case claim([TopicPartition: Int64])
    /// Go on polling. Partitions just assigned begin at these offsets; those without are not taken.
    case resumePoll([TopicPartition: Int64])
    /// Apply the batch in one transaction, which moves the offsets of `owned` behind the fence.
    case commit(Batch, owned: [TopicPartition: Ownership])
    case wait(Wait)
    case workOnBacklog
    /// Compare the stored offsets and epochs with these, without a lock.
    case compare([TopicPartition: Ownership])
    /// Leave the consumer group: to join it again, or for good.
    case leave(rejoins: Bool)
    /// Asked to stop, and done.
    case end
    /// Only a person can help.
    case stop(WorkerStopped)
  }

  /// What became of the last action, or what happened while polling.
  package enum Input: Sendable {
    case connected
    case joined
    /// The poll is over. `isReachable` says whether Kafka answers.
    case polled([Record], isReachable: Bool)
    case assigned([TopicPartition])
    /// Revoked or lost.
    case withdrawn([TopicPartition])
    case topicsExist
    case logStarts([TopicPartition: Int64])
    /// What is owned now, and what became of the records before.
    case claimed([TopicPartition: Ownership], past: DeadLetterPast)
    case backlogDone(hasMore: Bool)
    /// Whether the stored offsets and epochs are ours.
    case compared(isOwner: Bool)
    case left
    case failed(Disposition)
    // Of a batch.
    case committed
    case unanswered(reason: String)
    case stored([TopicPartition: Ownership])
    case waited
  }

  package enum State: String, CaseIterable, Sendable {
    case new, connecting, waitingToConnect, joining, waitingToJoin, polling
    // Within a poll.
    case checkingTopics, lookingUp, askingLogStarts, claiming, waitingToClaim
    case applying, workingOnBacklog, comparing, leaving, over
  }

  /// What the lane was set up to do.
  package struct Plan: Sendable {
    /// By their names in Kafka.
    package var topics: [String: Topic]
    /// Records of a topic in one transaction at most.
    package var recordsMax: [Topic: Int] = [:]
    package var hasBacklog = false
    package var breaker: CircuitBreaker?
    /// Decides what a record is; a pure function.
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

  /// What follows when the group is left.
  enum Ending: Sendable {
    case rejoin, end
    case stop(WorkerStopped)
  }

  package let plan: Plan
  package internal(set) var state = State.new
  package internal(set) var batches: BatchMachine
  /// Whether a batch could be committed now, as far as is known.
  package var isReady: Bool { isKafkaThere && isDatabaseThere }
  /// Kafka answered last.
  var isKafkaThere = false
  /// The database answered last.
  var isDatabaseThere = false
  /// Set when asked to stop: the machine ends at the next step that allows it.
  package var isStopping = false

  /// Of the poll in hand, the batches after the one being applied, the next one last.
  var queue: [Batch] = []
  /// The poll in hand brought nothing.
  var isIdle = false
  /// The poll's batches are applied.
  var isRoundOver = false
  /// Assigned, and not yet claimed.
  var assigned: [TopicPartition] = []
  /// What is stored of them.
  var known: [TopicPartition: Ownership] = [:]
  var ending = Ending.end
  var backoff = Backoff()
  /// The backlog's last piece said that there is more.
  var backlogIsWaiting = false
  var nextBacklog = Int64.min
  var nextComparison = Int64.min

  package init(_ plan: Plan) {
    self.plan = plan
    batches = BatchMachine(isFenced: true, breaker: plan.breaker)
  }

  package var owned: [TopicPartition: Ownership] { batches.owned ?? [:] }

  package mutating func start() -> Action {
    state = .connecting
    return .connect
  }

  /// - Parameter now: milliseconds of any clock that only goes forward.
  package mutating func handle(_ input: Input, at now: Int64) -> Action {
    // Only of a batch there can be less.
    if state != .applying, case .failed(.tooMuch(let reason, _)) = input {
      return handle(.failed(.retry(reason: reason)), at: now)
    }
    switch (state, input) {
    case (_, .failed(.stop(let stopped))) where state != .comparing:
      return leave(.stop(stopped))

    case (.connecting, .connected):
      isDatabaseThere = true
      return join()
    case (.connecting, .failed(.retry(let reason))):
      return wait(reason, .waitingToConnect)
    case (.waitingToConnect, .waited):
      if isStopping { return leave(.end) }
      state = .connecting
      return .connect
    case (.joining, .joined):
      // Also when asked to stop meanwhile: there is a group to leave now.
      state = .polling
      return poll()
    case (.joining, .failed(.retry(let reason))):
      return wait(reason, .waitingToJoin)
    case (.waitingToJoin, .waited):
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
      return begin(records, at: now)
    case (.polling, .failed(.retry)):
      // librdkafka is at it already.
      isKafkaThere = false
      isIdle = true
      return endRound(at: now)
    case (.polling, .failed(.fenced)):
      isKafkaThere = false
      return leave(.rejoin)

    case (.checkingTopics, _), (.lookingUp, _), (.askingLogStarts, _), (.claiming, _),
      (.waitingToClaim, _):
      return handleWhileClaiming(input)
    case (.applying, _):
      return handleWhileApplying(input, at: now)
    case (.workingOnBacklog, _):
      return handleBacklog(input, at: now)

    case (.comparing, .compared(let isOwner)):
      isDatabaseThere = true
      return isOwner ? poll() : leave(.rejoin)
    case (.comparing, .failed(let disposition)):
      // Without an answer nothing is known of the offsets; the next look, or the next batch, finds out.
      if case .retry(let reason) = disposition { note(reason) } else { isDatabaseThere = false }
      return poll()

    case (.leaving, .left):
      for partition in owned.keys { batches.forget(partition) }
      return next(after: ending)
    default:
      return leave(.stop(.defect("it was \(state) when it was told \(input)")))
    }
  }

  /// Lets go of what is in hand and leaves the group, if it was joined.
  mutating func leave(_ ending: Ending) -> Action {
    batches.abandon()
    queue = []
    self.ending = ending
    switch state {
    case .new, .connecting, .waitingToConnect, .joining, .waitingToJoin, .leaving, .over:
      return next(after: ending)
    default:
      state = .leaving
      if case .rejoin = ending { return .leave(rejoins: true) }
      return .leave(rejoins: false)
    }
  }

  private mutating func next(after ending: Ending) -> Action {
    switch ending {
    case .rejoin where !isStopping:
      return join()
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
    backoff = Backoff()
    return .join
  }

  mutating func poll() -> Action {
    if isStopping { return leave(.end) }
    state = .polling
    return .poll(waits: !backlogIsWaiting)
  }

  mutating func wait(_ reason: String, _ state: State) -> Action {
    self.state = state
    note(reason)
    return .wait(Wait(reason: reason, millisecondsMax: backoff.nextCeilingMilliseconds()))
  }

  /// Who did not answer, by a reason to try again.
  mutating func note(_ reason: String) {
    guard reason.meansUnready else { return }
    if reason == "kafka" { isKafkaThere = false } else { isDatabaseThere = false }
  }
}
