import Events
import Foundation
import Handling
import Kafka
package import Logging
import Postgres

/// One thread with one consumer and one PostgreSQL connection: performs what `LaneMachine` decides,
/// and tells it what came of it.
///
/// Not polling is the back-pressure: at most one poll's records are in hand, and librdkafka's own
/// queue is bounded in bytes. Confined to the thread that calls `run`.
package final class Lane {
  let settings: LaneSettings
  let status: LaneStatus
  let metrics: Metrics
  let logger: Logger
  let topics: [String: Topic]

  /// The transaction under way, or one that may be repeated, or whose answer was lost.
  private struct Attempt {
    var batch: Batch
    var started: ContinuousClock.Instant
    var counts: [String: Int] = [:]
  }

  let store: BatchStore
  let producer: EventProducer
  private var machine: LaneMachine
  var consumer: Consumer?
  var recognition = Recognition()
  var upkeep = Upkeep()
  var groupWait: GroupWait
  /// The newest failure, for the log.
  private var failure: (any Error)?
  /// What the machine decided in the middle of a poll that cannot go on.
  private var interruption: LaneMachine.Action?
  private var attempt: Attempt?
  private let started = ContinuousClock.now

  var owned: [TopicPartition: Ownership] { machine.owned }

  package init(settings: LaneSettings, status: LaneStatus, metrics: Metrics, logger: Logger) {
    self.settings = settings
    self.status = status
    self.metrics = metrics
    self.logger = logger
    groupWait = GroupWait(patience: settings.groupPatience, limit: settings.groupWaitMax)
    topics = Dictionary(
      uniqueKeysWithValues: settings.handler.topics.map {
        ($0.name(prefix: settings.topicPrefix), $0)
      })
    let producer = EventProducer(
      configuration: settings.kafka, topicPrefix: settings.topicPrefix)
    self.producer = producer
    store = BatchStore(
      handler: settings.handler, consumerGroup: settings.consumerGroup,
      codeVersion: settings.codeVersion, status: status, open: settings.openConnection
    ) { events, _ in try producer.send(events) }
    var plan = LaneMachine.Plan(topics: topics, breaker: settings.circuitBreaker) {
      decode($0, topic: $1, now: EventTime.now)
    }
    plan.recordsMax = settings.handler.recordsMax
    plan.hasBacklog = settings.handler.backlog != nil
    machine = LaneMachine(plan)
  }

  /// Runs until asked to stop; throws `WorkerStopped` when only a person can help.
  package func run() throws {
    defer {
      store.close()
      producer.close()
    }
    var action = machine.start()
    while true {
      switch action {
      case .end: return
      case .stop(let stopped): throw stopped
      default: action = perform(action)
      }
    }
  }

  /// Performs an action; answers the one after it.
  private func perform(_ action: LaneMachine.Action) -> LaneMachine.Action {
    do {
      let input = try outcome(of: action)
      failure = nil
      if case .wait = action {} else { status.waitsFor = nil }
      return tell(input)
    } catch is PollInterrupted {
      return interruption ?? .end
    } catch let lost as CommitUnanswered {
      attempt?.counts = lost.counts
      return tell(failed(lost.cause, isUnanswered: true))
    } catch {
      return tell(failed(error))
    }
  }

  private func failed(_ error: any Error, isUnanswered: Bool = false) -> LaneMachine.Input {
    failure = error
    let disposition = disposition(of: error, group: settings.consumerGroup)
    switch disposition {
    case .retry(let reason):
      return isUnanswered ? .unanswered(reason: reason) : .failed(disposition)
    case .tooMuch:
      metrics.increment(.retries, [(try? reasonToRetry(error)) ?? ""])
      logger.warning("too much at once", metadata: ["error": "\(error)"])
    case .poison, .cut, .fenced, .stop:
      attempt = nil
    }
    return .failed(disposition)
  }

  private func tell(_ input: LaneMachine.Input) -> LaneMachine.Action {
    machine.isStopping = status.isStopping
    let action = machine.handle(input, at: milliseconds(since: started))
    status.isReady = machine.isReady
    return action
  }

  private func outcome(of action: LaneMachine.Action) throws -> LaneMachine.Input {
    switch action {
    case .connect:
      try store.connect()
      return .connected
    case .join:
      try join()
      return .joined
    case .poll(let waits):
      return try poll(waits: waits)
    case .checkTopics:
      try consumer?.checkTopics()
      return .topicsExist
    case .lookUp(let partitions):
      return try lookUp(partitions)
    case .askLogStarts(let partitions):
      return .logStarts(try consumer?.watermarks(partitions).mapValues(\.low) ?? [:])
    case .claim(let starts):
      let claimed = try store.claim(starts)
      recognition.expect(try store.lastRecords(claimed))
      let past = try store.past(before: claimed, for: settings.circuitBreaker)
      note(claimed)
      return .claimed(claimed, past: past)
    case .commit(let batch, let owned):
      return try commit(batch, owned: owned)
    case .wait(let wait):
      status.waitsFor = wait.reason
      metrics.increment(.retries, [wait.reason])
      logger.warning("trying again", metadata: ["error": "\(failure.map { "\($0)" } ?? "")"])
      status.wait(milliseconds: Int.random(in: 0...wait.millisecondsMax))
      return .waited
    case .workOnBacklog:
      return .backlogDone(hasMore: try workOnBacklog())
    case .compare(let owned):
      return .compared(isOwner: try store.isOwner(owned))
    case .leave(let rejoins):
      leave(rejoins: rejoins)
      return .left
    case .resumePoll, .end, .stop:
      // These are not performed: they end what called for them.
      return .failed(.stop(.defect("\(action) has no outcome")))
    }
  }

  // MARK: The consumer group

  private func join() throws {
    do {
      consumer = try Consumer(
        configuration: settings.kafka, group: settings.consumerGroup, topics: topics.keys.sorted()
      ) { [unowned self] in try rebalance($0) }
    } catch {
      throw ConsumerError.other(error)
    }
  }

  private func poll(waits: Bool) throws -> LaneMachine.Input {
    status.beat()
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
        logger.warning("Kafka does not answer", metadata: ["error": "\(problem)"])
      }
      let isFit = try watchMembership(of: consumer)
      return .polled(records, isReachable: problem == nil && isFit)
    } catch ConsumerError.offsetOutOfRange(let partition, let offset, _, _)
      where recognition.start(of: partition) == offset
    {
      // Retention has just deleted the record applied last, which was read only to be compared.
      throw Fenced()
    } catch let error as ConsumerError where error.isRetriable {
      logger.warning("polling again", metadata: ["error": "\(error)"])
      _ = try watchMembership(of: consumer)
      throw error
    } catch let error as KafkaError {
      // The consumer gave its partitions up.
      throw error.isRetriable ? ConsumerError.fatal(error) : .other(error)
    }
  }

  /// Runs inside poll. Answers where to start in newly assigned partitions: at the offsets in
  /// PostgreSQL, of which this lane becomes the owner.
  private func rebalance(_ event: RebalanceEvent) throws -> [TopicPartition: Int64] {
    var action: LaneMachine.Action
    switch event {
    case .assigned(let partitions):
      metrics.increment(.rebalances)
      action = tell(.assigned(partitions))
    case .revoked(let partitions), .lost(let partitions):
      if case .revoked = event { reportOffsets(of: partitions) }
      for partition in partitions { forget(partition) }
      action = tell(.withdrawn(partitions))
    }
    while true {
      switch action {
      case .resumePoll(let starts): return beginning(starts)
      case .leave, .end, .stop:
        interruption = action
        throw PollInterrupted()
      default: action = perform(action)
      }
    }
  }

  private func leave(rejoins: Bool) {
    if failure is MembershipLeadsNowhere {
      metrics.increment(.groupRenewals)
      logger.warning(
        "joining the consumer group anew",
        metadata: ["error": "\(failure.map { "\($0)" } ?? "")"])
    } else if rejoins {
      // What we know of the assignment is out of date.
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

  private func commit(_ batch: Batch, owned: [TopicPartition: Ownership]) throws
    -> LaneMachine.Input
  {
    attempt = Attempt(batch: batch, started: attempt?.started ?? .now)
    try producer.prepare()
    attempt?.counts = try store.commit(batch, owned: owned)
    finishAttempt()
    return .committed
  }

  private func lookUp(_ partitions: [TopicPartition]) throws -> LaneMachine.Input {
    let stored = try store.stored(partitions)
    if attempt != nil {
      let outcome = machine.batches.outcome(stored)
      metrics.increment(.ambiguousCommits, [outcome.rawValue])
      if outcome == .committed { finishAttempt() }
    }
    return .stored(stored)
  }

  /// The batch is committed.
  private func finishAttempt() {
    guard let attempt else { return }
    upkeep.offsetsToReport.merge(attempt.batch.nextOffsets) { $1 }
    count(attempt.batch, work: attempt.counts, since: attempt.started)
    self.attempt = nil
  }
}

/// Ends a poll in whose middle the lane has to leave, or to stop.
private struct PollInterrupted: Error {}

private func milliseconds(since start: ContinuousClock.Instant) -> Int64 {
  let (seconds, attoseconds) = (ContinuousClock.now - start).components
  return seconds * 1000 + attoseconds / 1_000_000_000_000_000
}
