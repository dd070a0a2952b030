import Events
import Foundation
import Kafka
import Logging
import Postgres

/// One thread with one consumer and one PostgreSQL connection: poll, decode, commit, repeat.
///
/// Not polling is the back-pressure: at most one batch is in hand, and librdkafka's own queue is
/// bounded in bytes. Confined to the thread that calls `run`.
final class Lane {
  let settings: LaneSettings
  let status: LaneStatus
  let metrics: Metrics
  let logger: Logger
  let topics: [String: Topic]

  let store: BatchStore
  private let producer: EventProducer
  var consumer: Consumer?
  var owned: [TopicPartition: Ownership] = [:]
  var upkeep = Upkeep()
  private var breaker: CircuitBreaker

  init(settings: LaneSettings, status: LaneStatus, metrics: Metrics, logger: Logger) {
    self.settings = settings
    self.status = status
    self.metrics = metrics
    self.logger = logger
    breaker = settings.circuitBreaker
    topics = Dictionary(
      uniqueKeysWithValues: settings.handler.topics.map {
        ($0.name(prefix: settings.topicPrefix), $0)
      })
    let producer = EventProducer(
      configuration: settings.kafka, topicPrefix: settings.topicPrefix)
    self.producer = producer
    store = BatchStore(
      handler: settings.handler, consumerGroup: settings.consumerGroup,
      codeVersion: settings.codeVersion, open: settings.openConnection
    ) { events, _ in try producer.send(events) }
  }

  /// Runs until asked to stop; throws `WorkerStopped` when only a person can help.
  func run() throws {
    defer {
      store.close()
      producer.close()
    }
    do {
      try retrying { try store.connect() }
      while !status.isStopping {
        do {
          try consume()
        } catch is Fenced {
          // Somebody else owns a partition of ours: what we know of the assignment is out of date.
          metrics.increment(.fenced)
          logger.warning("fenced; joining the consumer group again")
        }
      }
    } catch is Stopping {
      // Asked to stop while waiting; the batch in hand was not committed and is not lost.
    }
  }

  /// One membership of the consumer group, from joining to leaving.
  private func consume() throws {
    let consumer = try Consumer(
      configuration: settings.kafka, group: settings.consumerGroup,
      topics: topics.keys.sorted()
    ) { [unowned self] in try rebalance($0) }
    self.consumer = consumer
    defer {
      consumer.close()
      self.consumer = nil
      forget(Array(owned.keys))
    }
    while !status.isStopping {
      status.beat()
      let records = try poll(consumer)
      for batch in batches(records) {
        try batch.apply(committing: commit)
        // A poll may bring many batches: what they leave to do keeps up with them.
        if upkeep.backlogIsWaiting { try runBacklog(isIdle: false) }
      }
      try runBacklog(isIdle: records.isEmpty)
      if records.isEmpty { try checkOwnership() }
      countDeadLetters()
      reportOffsets(consumer, isLast: false)
      reportDatabaseSize()
    }
    reportOffsets(consumer, isLast: true)
  }

  private func poll(_ consumer: Consumer) throws -> [Record] {
    do {
      let records = try consumer.poll(
        maxRecords: settings.batchRecordsMax, maxBytes: settings.batchBytesMax,
        timeoutMilliseconds: upkeep.backlogIsWaiting ? 0 : settings.pollTimeoutMilliseconds)
      let problem = consumer.connectionProblem
      if let problem, status.isReady {
        logger.warning("Kafka does not answer", metadata: ["error": "\(problem)"])
      }
      status.isReady = problem == nil
      return records
    } catch let error as ConsumerError {
      try resolve(error)
      return []
    }
  }

  /// Splits a poll's records by topic: a transaction holds the records of one topic, and no more of
  /// them than the handler wants.
  private func batches(_ records: [Record]) -> [Batch] {
    var items: [String: [Batch.Item]] = [:]
    let now = EventTime.now
    for record in records {
      // After a rebalance inside the poll a record may be of a partition that went away, or be
      // there twice.
      guard let ownership = owned[record.topicPartition], record.offset >= ownership.nextOffset,
        let topic = topics[record.topic]
      else { continue }
      items[record.topic, default: []].append(decode(record, topic: topic, now: now))
    }
    return items.sorted { $0.key < $1.key }.flatMap { name, items -> [Batch] in
      guard let topic = topics[name] else { return [] }
      let size = max(1, settings.handler.recordsMax[topic] ?? items.count)
      return stride(from: 0, to: items.count, by: size).map {
        Batch(topic: topic, items: Array(items[$0..<min($0 + size, items.count)]))
      }
    }
  }

  private func commit(_ batch: Batch) throws {
    let breaker = try breaker.counting(batch)
    let started = ContinuousClock.now
    let nextOffsets = batch.nextOffsets
    let counts = try retrying {
      try store.commit(batch, owned: owned, metrics: metrics)
    }
    self.breaker = breaker
    for (partition, next) in nextOffsets { owned[partition]?.nextOffset = next }
    upkeep.offsetsToReport.merge(nextOffsets) { $1 }
    count(batch, work: counts, since: started)
  }

  /// Repeats what fails for a passing reason, for ever, until asked to stop.
  func retrying<T>(_ body: () throws -> T) throws -> T {
    try status.retrying(metrics: metrics, logger: logger, reason: reasonToRetry, body)
  }
}
