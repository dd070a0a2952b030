import Handling
import Kafka
import Lanes

/// Performs the machine's actions on the simulated broker and store, as `Lane` does on Kafka and
/// PostgreSQL.
extension Schedule {
  /// Feeds the result of the last action, or an event, to the machine.
  mutating func tell(_ lane: Int, _ input: LaneMachine.Input) {
    now += Int64(below(300))
    lanes[lane].machine.isStopping = lanes[lane].isStopping
    let (state, told) = (lanes[lane].machine.transitionState, lanes[lane].machine.told(input))
    let action = lanes[lane].machine.handle(input, at: now)
    var transition = Transition(state: state, told: told, answer: Transition.Answer(action))
    if told == .poisonOfOne || told == .foundNotCommitted,
      case .step(.commit(let batch, _)) = action,
      batch.eventCount == 0
    {
      transition.answer = .commitDeadLetters
    }
    if settings.isTraced { trace.append("\(step): lane \(lane) \(transition)") }
    coverage.count(transition)
    switch told {
    case .committed, .foundCommitted: checkBelief(lane)
    case .foundFenced, .notOwner: checkFence(lane)
    default: break
    }
    lanes[lane].action = action
    if case .resumePoll(let starts) = action { resumePoll(lane, starts) }
  }

  /// The lane reports this offset to Kafka, where lag monitoring shows it.
  private mutating func checkBelief(_ lane: Int) {
    for (partition, owned) in lanes[lane].machine.owned {
      let index = Fixed.index(of: partition)
      let row = store.rows[index]
      if row.claim == lanes[lane].claims[index], owned.nextOffset > row.next {
        note(.believes, "\(partition): \(owned.nextOffset), stored is \(row.next)")
      }
    }
  }

  /// Checks that another lane has claimed one of the partitions that this lane believes to own.
  mutating func checkFence(_ lane: Int) {
    let isTaken = lanes[lane].machine.owned.keys.contains { partition in
      let index = Fixed.index(of: partition)
      return store.rows[index].claim != lanes[lane].claims[index]
    }
    if !isTaken { note(.justFences, "lane \(lane)") }
  }

  /// Performs one step of the lane.
  mutating func act(_ lane: Int) {
    guard lanes[lane].isRunning, !lanes[lane].isStalled else { return }
    switch lanes[lane].action {
    case .connect:
      if !isFailing(lane) { tell(lane, .connected) }
    case .join:
      if hits(.brokerAway) { return tell(lane, .failed(.retry(reason: "kafka"))) }
      if hits(.topicMissing) { return stop(lane, "cannot create the consumer") }
      join(lane)
      tell(lane, .joined)
    case .poll:
      poll(lane)
    case .checkTopics:
      if hits(.topicMissing) { return stop(lane, "a topic is missing") }
      if hits(.brokerAway) { return tell(lane, .failed(.retry(reason: "kafka"))) }
      tell(lane, .topicsExist)
    case .step(.lookUp(let partitions)):
      lookUp(lane, partitions)
    case .askLogStarts(let partitions):
      if hits(.brokerAway) { return tell(lane, .failed(.retry(reason: "kafka"))) }
      if hits(.topicMissing) { return stop(lane, "a topic is missing") }
      let starts = partitions.map { ($0, Int64(logs[Fixed.index(of: $0)].low)) }
      tell(lane, .logStarts(Dictionary(uniqueKeysWithValues: starts)))
    case .claim(let starts):
      claim(lane, starts)
    case .step(.commit(let batch, let owned)):
      if lanes[lane].transaction == nil { begin(lane, batch, owned ?? [:]) } else { commit(lane) }
    case .step(.wait):
      if below(2) == 0 { tell(lane, .waited) }
    case .workOnBacklog:
      workOnBacklog(lane)
    case .compare(let owned):
      if isFailing(lane) { return }
      tell(
        lane,
        .compared(isOwner: owned.allSatisfy { store.ownership(Fixed.index(of: $0)) == $1 }))
    case .leave:
      leaveGroup(lane)
    case .end, .stop:
      end(lane)
    case .resumePoll:
      note(.justStops, "a poll is resumed outside a poll")
    }
  }

  /// The lane's thread returns.
  private mutating func end(_ lane: Int) {
    if case .stop(let stopped) = lanes[lane].action {
      if !lanes[lane].needsPerson, !isBroken(lane) { note(.justStops, "lane \(lane): \(stopped)") }
    } else if !lanes[lane].isStopping {
      note(.justStops, "lane \(lane) ended without being asked to")
    }
    if lanes[lane].isMember { note(.leaves, "lane \(lane)") }
    lanes[lane].isRunning = false
  }

  /// Whether the circuit breaker was right to stop the lane.
  private func isBroken(_ lane: Int) -> Bool {
    guard case .stop(let stopped) = lanes[lane].action,
      stopped.reason.contains("dead-letter limit")
    else { return false }
    // Undecodable records of the current poll, and one that failed alone twice, add to the
    // committed ones.
    return lanes[lane].deadLetters + lanes[lane].undecodableInHand + 1 >= Fixed.breaker.runLimit
  }

  mutating func stop(_ lane: Int, _ reason: String) {
    lanes[lane].needsPerson = true
    tell(lane, .failed(.stop(WorkerStopped(reason: reason, nextStep: "fix it"))))
  }

  /// Whether a query fails now; then the lane has received the error.
  private mutating func isFailing(_ lane: Int) -> Bool {
    if hits(.connectionLost) {
      relieve(lane)
      tell(lane, .failed(.retry(reason: "connection")))
      if lanes[lane].machine.isReady { note(.honest, "lane \(lane)") }
    } else if hits(.permissionMissing) {
      // A failed comparison has no consequence, so it is no reason to stop.
      if case .compare = lanes[lane].action {
        tell(lane, .failed(.stop(WorkerStopped(reason: "no", nextStep: ""))))
      } else {
        stop(lane, "permission denied")
      }
    } else {
      return false
    }
    return true
  }

  /// Whether other transactions lock the rows. The lane then waits, and may run into the lock
  /// timeout.
  private mutating func isBlocked(_ lane: Int, _ partitions: some Sequence<Int>) -> Bool {
    guard store.isLocked(partitions) else { return false }
    if hits(.lockTimeout) {
      relieve(lane)
      tell(lane, .failed(.retry(reason: "lock")))
    }
    return true
  }

  /// A failed look-up says that the database is slow, not the event, unless that is decided already and
  /// its dead letter in hand.
  private mutating func relieve(_ lane: Int) {
    if lanes[lane].machine.inHand?.eventCount != 0 { lanes[lane].strained = nil }
  }

  private mutating func lookUp(_ lane: Int, _ partitions: [TopicPartition]) {
    let indices = partitions.map(Fixed.index)
    // Operators stop processes when the database has a problem.
    if hits(.terminate) { lanes[lane].isStopping = true }
    if isBlocked(lane, indices) || isFailing(lane) { return }
    var stored: [TopicPartition: Ownership] = [:]
    for partition in partitions { stored[partition] = store.ownership(Fixed.index(of: partition)) }
    if lanes[lane].machine.outcome(stored) == .committed { countCommitted(lane) }
    tell(lane, .stored(stored))
  }

  private mutating func claim(_ lane: Int, _ starts: [TopicPartition: Int64]) {
    if isBlocked(lane, starts.keys.map(Fixed.index)) || isFailing(lane) { return }
    let (owned, claim) = store.claim(starts, bumping: mutation != .epochNotBumped)
    // The response may be lost after the claim.
    if isFailing(lane) { return }
    for partition in starts.keys { lanes[lane].claims[Fixed.index(of: partition)] = claim }
    let past = store.past(before: owned, for: Fixed.breaker)
    lanes[lane].deadLettersInARow = past.run
    lanes[lane].deadLetters += past.run + past.deadLetters
    tell(lane, .claimed(owned, past: mutation == .breakerForgets ? DeadLetterPast() : past))
  }

  private mutating func workOnBacklog(_ lane: Int) {
    if isFailing(lane) { return }
    if hits(.backlogFailed) {
      switch below(8) {
      // A piece that cannot be done: the lane tries it again later, by itself.
      case 0: return tell(lane, .backlogDone(hasMore: false))
      case 1: return tell(lane, .failed(.fenced))
      default: return tell(lane, .failed(.retry(reason: "serialization")))
      }
    }
    tell(lane, .backlogDone(hasMore: isFaulty && below(4) == 0))
  }
}
