import Events
import Kafka
package import Logging
import Postgres

/// One thread with one consumer and one PostgreSQL connection: performs the actions of `LaneMachine`
/// and feeds it their results.
///
/// A lane that is busy does not poll, which is the backpressure: it holds the records of at most one
/// poll, and librdkafka's own queue is bounded in bytes. Confined to the thread that calls `run`.
package final class Lane {
  let settings: LaneSettings
  let status: LaneStatus
  let metrics: Metrics
  let logger: Logger
  let topics: [String: Topic]

  /// A transaction that is open, will be retried, or whose response was lost.
  private struct Attempt {
    var batch: Batch
    var started: ContinuousClock.Instant
    var counts: [String: Int] = [:]
  }

  let store: BatchStore
  let producer: EventProducer
  private(set) var machine: LaneMachine
  var consumer: Consumer?
  var recognition = Recognition()
  /// The offsets of last applied records that turned out to be deleted when they were read to be compared. They outlast
  /// the membership, which ends when one is found out.
  var uncomparable: [TopicPartition: Int64] = [:]
  var upkeep = Upkeep()
  var groupWait: GroupWait
  /// The last failure, for the log.
  private var failure: (any Error)?
  private var attempt: Attempt?
  private let started = ContinuousClock.now

  var owned: [TopicPartition: Ownership] { machine.owned }

  package init(settings: LaneSettings, status: LaneStatus, metrics: Metrics, logger: Logger) {
    self.settings = settings
    self.status = status
    self.metrics = metrics
    self.logger = logger
    groupWait = GroupWait(patience: settings.groupPatience, limit: settings.groupWaitMax)
    topics = settings.handler.topics(prefix: settings.topicPrefix)
    let producer = EventProducer(
      configuration: settings.kafka, topicPrefix: settings.topicPrefix)
    self.producer = producer
    store = BatchStore(
      handler: settings.handler, consumerGroup: settings.consumerGroup,
      status: status, open: settings.openConnection
    ) { events, _ in try producer.send(events) }
    var plan = LaneMachine.Plan(topics: topics, breaker: settings.circuitBreaker) {
      decode($0, topic: $1, now: EventTime.now)
    }
    plan.recordsMax = settings.handler.recordsMax
    plan.hasBacklog = settings.handler.backlog != nil || settings.handler.due != nil
    plan.isTimed = settings.handler.due != nil
    machine = LaneMachine(plan)
  }

  /// Runs until asked to stop; throws `WorkerStopped` when only an operator can help.
  package func run() throws {
    defer {
      status.activity = "closing its connections"
      store.close()
      producer.close()
      status.activity = "ended"
    }
    let last = performActions(after: perform(machine.start()), inPoll: false)
    switch last {
    case .end: return
    case .stop(let stopped): throw stopped
    default: throw WorkerStopped.defect("\(last) outside of a poll")
    }
  }

  /// Feeds the machine `input` and the results of its actions, up to the action that ends the lane or,
  /// within a poll, the one that continues or ends the poll. Returns that action.
  private func performActions(after input: LaneMachine.Input, inPoll: Bool) -> LaneMachine.Action {
    var input = input
    while true {
      machine.isStopping = status.isStopping
      machine.isLogRecognized = machine.isLogRecognized || recognition.hasRecognized
      let action = machine.handle(input, at: milliseconds(since: started))
      status.isReady = machine.isReady
      switch action {
      case .resumePoll, .end, .stop: return action
      case .leave where inPoll: return action
      default: input = perform(action)
      }
    }
  }

  /// Performs an action; returns its result.
  private func perform(_ action: LaneMachine.Action) -> LaneMachine.Input {
    let input: LaneMachine.Input
    status.activity = action.activity
    // Of each action, not only of polls: between two of them there may be many transactions, each as long as the
    // statement timeout.
    status.beat()
    do {
      switch action {
      case .connect:
        try store.connect()
        input = .connected
      case .join:
        try join()
        input = .joined
      case .poll(let waits):
        input = try poll(waits: waits)
      case .checkTopics:
        try consumer?.checkTopics()
        input = .topicsExist
      case .askLogStarts(let partitions):
        input = .logStarts(try consumer?.watermarks(partitions).mapValues(\.low) ?? [:])
      case .claim(let starts):
        let claimed = try store.claim(starts)
        let last = try store.lastRecords(claimed)
        recognition.expect(last)
        if last.isEmpty, try !store.hasLastRecords() { recognition.expectNothing() }
        let past = try store.past(before: claimed, for: settings.circuitBreaker)
        note(claimed)
        input = .claimed(claimed, past: past)
      case .step(.commit(let batch, let owned)):
        attempt = Attempt(batch: batch, started: attempt?.started ?? .now)
        try producer.prepare()
        attempt?.counts = try store.commit(batch, owned: owned)
        finishAttempt()
        input = .committed
      case .step(.lookUp(let partitions)):
        input = .stored(try lookUp(partitions))
      case .step(.wait(let wait)):
        status.wait = .retry(reason: wait.reason)
        metrics.increment(.retries, [wait.reason])
        logger.warning(
          "trying again", metadata: ["error": "\(failure.map { "\($0)" } ?? wait.reason)"])
        // A batch may be repeated for hours, without a poll.
        reportOffsets(isLast: false)
        if let error = failure as? PostgresError, error.sqlstate != nil { countDeadLetters() }
        status.wait(milliseconds: Int.random(in: 0...wait.millisecondsMax))
        failure = nil
        return .waited
      case .workOnBacklog:
        input = .backlogDone(hasMore: try workOnBacklog())
      case .compare(let owned):
        input = .compared(isOwner: try store.isOwner(owned))
      case .leave(let rejoins):
        leave(rejoins: rejoins)
        // Logged if the lane waits before it joins again.
        if rejoins, failure == nil { failure = Fenced() }
        return .left
      case .resumePoll, .end, .stop:
        throw WorkerStopped.defect("\(action) cannot be performed")
      }
    } catch let ended as PollEnded {
      return perform(.leave(rejoins: ended.rejoins))
    } catch let lost as CommitUnanswered {
      attempt?.counts = lost.counts
      return failed(lost.cause, isUnanswered: true)
    } catch {
      return failed(error)
    }
    failure = nil
    status.wait = groupWait.wait
    return input
  }

  /// Logs and counts a failure of an action.
  private func failed(_ error: any Error, isUnanswered: Bool = false) -> LaneMachine.Input {
    failure = error
    var error = error
    // The cancel that ends a lane is no timeout, however long the statements before it have run.
    if status.isStopping, var canceled = error as? PostgresError {
      canceled.isStatementTimeout = false
      error = canceled
    }
    let disposition = disposition(of: error, group: settings.consumerGroup)
    switch disposition {
    case .retry:
      break
    case .tooMuch(let reason, _):
      metrics.increment(.retries, [reason])
      logger.warning("a limit on time or memory was exceeded", metadata: ["error": "\(error)"])
    case .poison, .cut, .fenced, .stop:
      attempt = nil
    }
    return isUnanswered ? .init(unanswered: disposition) : .failed(disposition)
  }

  // MARK: The consumer group

  private func join() throws {
    recognition = Recognition()
    do {
      consumer = try Consumer(
        configuration: settings.kafka, group: settings.consumerGroup, topics: topics.keys.sorted()
      ) { [unowned self] in try rebalance($0) }
    } catch {
      throw ConsumerError.other(error)
    }
  }

  private func poll(waits: Bool) throws -> LaneMachine.Input {
    countDeadLetters()
    reportOffsets(isLast: false)
    reportDatabaseSize()
    guard let consumer else { return .failed(.fenced) }
    do {
      let records = try consumer.poll(
        maxRecords: settings.batchRecordsMax, maxBytes: settings.batchBytesMax,
        timeoutMilliseconds: waits ? settings.pollTimeoutMilliseconds : 0)
      try recognition.check(records)
      let problem = consumer.connectionProblem
      if let problem, status.isReady {
        logger.warning("Kafka does not respond", metadata: ["error": "\(problem)"])
      }
      let isFit = try watchMembership(of: consumer)
      return .polled(records, isReachable: problem == nil && isFit)
    } catch ConsumerError.offsetOutOfRange(let partition, let offset, let low, let high)
      where recognition.start(of: partition) == offset && offset < high ?? .max
    {
      // Retention has deleted the last applied record, which was read only to be compared. Without an answer where the
      // log begins, ask again: it may be another log, which ends before that record.
      if let low, offset < low { uncomparable[partition] = offset }
      throw Fenced()
    } catch let error as ConsumerError where error.isRetriable {
      logger.warning("polling again", metadata: ["error": "\(error)"])
      _ = try watchMembership(of: consumer)
      throw error
    } catch let error as KafkaError {
      // The consumer has given up its partitions.
      throw error.isRetriable ? ConsumerError.fatal(error) : .other(error)
    }
  }

  /// Runs inside a poll. Claims assigned partitions and returns their starting offsets, which are
  /// stored in PostgreSQL.
  ///
  /// - Throws: `PollEnded` through the consumer if the lane has to leave its group: the consumer cannot
  ///   be closed before its poll has returned.
  private func rebalance(_ event: RebalanceEvent) throws -> [TopicPartition: Int64] {
    let input: LaneMachine.Input
    switch event {
    case .assigned(let partitions):
      metrics.increment(.rebalances)
      input = .assigned(partitions)
    case .revoked(let partitions), .lost(let partitions):
      if case .revoked = event { reportOffsets(of: partitions) }
      for partition in partitions { forget(partition) }
      input = .withdrawn(partitions)
    }
    let last = performActions(after: input, inPoll: true)
    switch last {
    case .resumePoll(let starts): return beginning(starts)
    case .leave(let rejoins): throw PollEnded(rejoins: rejoins)
    default: throw WorkerStopped.defect("\(last) inside a poll")
    }
  }

  private func leave(rejoins: Bool) {
    if failure is MembershipLeadsNowhere {
      metrics.increment(.groupRenewals)
      logger.warning(
        "replacing the consumer group membership",
        metadata: ["error": "\(failure.map { "\($0)" } ?? "")"])
    } else if rejoins {
      metrics.increment(.fenced)
      logger.warning(
        "fenced; joining the consumer group again",
        metadata: ["error": "\(failure ?? Fenced())"])
    } else {
      reportOffsets(isLast: true)
    }
    for partition in owned.keys { forget(partition) }
    consumer?.close()
    consumer = nil
    attempt = nil
    groupWait.startAnew()
  }

  // MARK: Batches

  private func lookUp(_ partitions: [TopicPartition]) throws -> [TopicPartition: Ownership] {
    let stored = try store.stored(partitions)
    if machine.isInDoubt, let outcome = machine.outcome(stored) {
      metrics.increment(.ambiguousCommits, [outcome.rawValue])
      if outcome == .committed { finishAttempt() }
    }
    return stored
  }

  /// The batch is committed.
  private func finishAttempt() {
    guard let attempt else { return }
    upkeep.offsetsToReport.merge(attempt.batch.nextOffsets) { $1 }
    count(attempt.batch, work: attempt.counts, since: attempt.started)
    self.attempt = nil
  }
}

/// Ends a poll during which the lane has to leave its group.
private struct PollEnded: Error {
  var rejoins: Bool
}

private func milliseconds(since start: ContinuousClock.Instant) -> Int64 {
  let (seconds, attoseconds) = (ContinuousClock.now - start).components
  return seconds * 1000 + attoseconds / 1_000_000_000_000_000
}
