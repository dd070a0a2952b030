import Events
import Handling
import Kafka
import Logging

/// The state of a lane's tasks between batches.
struct Upkeep {
  /// Committed to PostgreSQL and not yet reported to Kafka.
  var offsetsToReport: [TopicPartition: Int64] = [:]
  var nextReport = ContinuousClock.now
  /// When to report the offsets of all partitions to Kafka, including those that have not moved.
  var nextFullReport = ContinuousClock.now
  var nextDeadLetterCount = ContinuousClock.now
  var lagClock = LagClock()
  var nextSizing = ContinuousClock.now
  /// When to run the next piece of the handler's backlog, and of what is due.
  var nextBacklog = ContinuousClock.now
  var nextBesideSweep = ContinuousClock.now
  var nextDue = ContinuousClock.now
  /// How often the pieces of what is due are halved, because larger ones have exceeded a limit.
  var dueHalvings = 0
  /// Claimed partitions whose log is not known to be applied up to its end at the time of the claim.
  var catchingUp: Set<TopicPartition> = []
  /// Those ends, once they are known.
  var ends: [TopicPartition: Int64] = [:]
}

/// How often pieces are halved: then they hold a few rows.
private let halvingsMax = 10

/// The maximum number of log lines about a batch's traces; one more line counts the rest.
private let tracedLinesMax = 32

extension Lane {
  /// Reports the lane's offsets to Kafka, for its lag tools, and to the metrics, once a second.
  func reportOffsets(isLast: Bool) {
    guard let consumer, isLast || .now >= upkeep.nextReport else { return }
    upkeep.nextReport = .now + .seconds(1)
    metrics.countRefusals(of: consumer, logger: logger)
    if isLast || .now >= upkeep.nextFullReport {
      // An earlier member's report may be outdated, a report may have been lost, and Kafka forgets
      // offsets that are not reported for a week.
      upkeep.nextFullReport = .now + .seconds(60)
      upkeep.offsetsToReport.merge(owned.mapValues(\.nextOffset)) { $1 }
    }
    reportOffsets(upkeep.offsetsToReport, by: consumer)
    upkeep.offsetsToReport = [:]
    let now = EventTime.now.microseconds / 1000
    for (partition, ownership) in owned {
      guard let high = consumer.cachedWatermarks(partition)?.high else { continue }
      let lag = max(0, high - ownership.nextOffset)
      metrics.set(.lag, labels(partition), to: Double(lag))
      metrics.set(
        .lagSeconds, labels(partition),
        to: upkeep.lagClock.seconds(partition, lagRecords: lag, nowMilliseconds: now))
    }
  }

  /// Reports partitions to Kafka before they are revoked.
  func reportOffsets(of partitions: [TopicPartition]) {
    guard let consumer else { return }
    reportOffsets(upkeep.offsetsToReport.filter { partitions.contains($0.key) }, by: consumer)
  }

  private func reportOffsets(_ offsets: [TopicPartition: Int64], by consumer: Consumer) {
    if let error = consumer.commitAsync(offsets) {
      logger.debug("offsets not reported to Kafka", metadata: ["error": "\(error)"])
    }
  }

  /// Reports the size of the database once a minute, from one lane of each consumer group: the owner of
  /// the first partition of its first topic.
  func reportDatabaseSize() {
    guard .now >= upkeep.nextSizing, owned[sizingPartition] != nil else { return }
    upkeep.nextSizing = .now + .seconds(60)
    do {
      metrics.set(.databaseSize, to: Double(try store.databaseSizeBytes()))
    } catch {
      // Only a metric. The next batch reports the error.
      logger.debug("the size of the database could not be read", metadata: ["error": "\(error)"])
    }
  }

  /// Counts the group's open dead letters every 15 seconds. Every lane counts all of them, so that the
  /// metric exists whichever processes run.
  func countDeadLetters() {
    guard .now >= upkeep.nextDeadLetterCount else { return }
    upkeep.nextDeadLetterCount = .now + .seconds(15)
    // On failure the last number stands, and the next batch reports the error.
    guard let counts = try? store.openDeadLetters() else { return }
    for topic in topics.keys {
      metrics.set(.openDeadLetters, [topic], to: Double(counts[topic] ?? 0))
    }
    if let overdue = settings.handler.overdue, let count = try? store.count(overdue()) {
      metrics.set(.overdue, to: Double(count))
    }
  }

  /// The next piece of what is due for the people of the lane's partitions; nil if there are none.
  private func due() -> Work? {
    guard let due = settings.handler.due else { return nil }
    let partitions = owned.filter { isFirstTopic($0.key) }
    findEnds()
    let needed = owned.filter { isNeededForDue($0.key) }
    guard needed.allSatisfy({ hasReachedEnd($0.key, at: $0.value.nextOffset) }) else { return nil }
    let current = partitions.filter { hasReachedEnd($0.key, at: $0.value.nextOffset) }
    guard !current.isEmpty else { return nil }
    return due(
      Turn(
        partitions: current.keys.map(\.partition).sorted(),
        fence: store.fenceStatement(current), halvings: upkeep.dueHalvings))
  }

  /// Whether the partition is one of the handler's first topic, whose partitions own what is due.
  func isFirstTopic(_ partition: TopicPartition) -> Bool {
    topics[partition.topic] == settings.handler.topics.first
  }

  /// Whether the partition's log must be applied before anything is due.
  func isNeededForDue(_ partition: TopicPartition) -> Bool {
    topics[partition.topic].map(settings.handler.dueAfter.contains) ?? false
  }

  /// Asks for the ends of the logs that are not known. Without an answer, the next turn asks again.
  private func findEnds() {
    let unknown = upkeep.catchingUp.filter { upkeep.ends[$0] == nil }
    guard !unknown.isEmpty,
      let ends = try? consumer?.watermarks(unknown.sorted(), timeoutMilliseconds: 1000)
    else { return }
    for (partition, watermarks) in ends { upkeep.ends[partition] = watermarks.high }
  }

  private func hasReachedEnd(_ partition: TopicPartition, at nextOffset: Int64) -> Bool {
    guard upkeep.catchingUp.contains(partition) else { return true }
    // The last offsets may belong to a producer's transaction markers.
    let isRead = !machine.holdsRecords && consumer?.hasReadToEnd(partition) ?? false
    guard isRead || upkeep.ends[partition].map({ nextOffset >= $0 }) ?? false else { return false }
    upkeep.catchingUp.remove(partition)
    return true
  }

  /// Runs one piece of the handler's backlog, and one of what is due; returns whether there is more. A lane that is to
  /// stop begins no other piece.
  func workOnBacklog() throws -> Bool {
    do {
      try producer.prepare()
      // What is due does not wait for a lock that the backlog waits for.
      let backlog = Result { try workOnBacklogOrBesideSweep() }
      let hasMore = try run(
        "what is due", due, unlessBefore: \.nextDue, halvings: \Upkeep.dueHalvings)
      return try backlog.get() || hasMore
    } catch {
      if let reason = try? reasonToRetry(error) {
        metrics.increment(.retries, [reason])
        logger.warning("backlog: trying again", metadata: ["error": "\(error)"])
      }
      throw error
    }
  }

  /// Runs one piece of the backlog. If it could not be done, the person whose sweep was next may be the cause: they
  /// come last then, and until the next attempt the rest of the backlog is done without the sweep.
  private func workOnBacklogOrBesideSweep() throws -> Bool {
    let handler = settings.handler
    if .now >= upkeep.nextBacklog {
      let hasMore = try run("backlog", handler.backlog, unlessBefore: \.nextBacklog)
      guard .now < upkeep.nextBacklog, !status.isStopping else { return hasMore }
      if let sweep = handler.sweep { _ = try store.runBacklog(sweep().postponement()) }
    }
    return try run(
      "backlog beside the sweep", handler.backlogBesideSweep, unlessBefore: \.nextBesideSweep)
  }

  /// - Parameters:
  ///   - earliest: moved by half a minute if the piece cannot be done, or not in time. The cause is in stored
  ///     rows, so records do not wait for it, nor does the other kind of piece.
  ///   - halvings: for pieces that can be halved. One that exceeds a limit is tried at half its size at once.
  private func run(
    _ kind: String, _ piece: (() -> Work?)?,
    unlessBefore earliest: WritableKeyPath<Upkeep, ContinuousClock.Instant>,
    halvings: WritableKeyPath<Upkeep, Int>? = nil
  ) throws -> Bool {
    // Only the statement that runs at half of the time to drain is cancelled: a later one would take the rest of it.
    guard !status.isStopping, .now >= upkeep[keyPath: earliest], let work = piece?() else {
      return false
    }
    do {
      let started = ContinuousClock.now
      let outcome = try store.runBacklog(work)
      outcome.afterCommit?()
      count(work: outcome.counts)
      metrics.observe(.lateness, seconds: outcome.latenesses)
      // One of twice the size would be far from a limit, too.
      if let halvings, upkeep[keyPath: halvings] > 0, .now - started < .seconds(1) {
        upkeep[keyPath: halvings] -= 1
      }
      return outcome.hasMore
    } catch {
      let reason: String
      switch disposition(of: error) {
      case .poison: reason = DeadLetterReason.notApplicable
      case .tooMuch(let limit, _) where !status.isStopping:
        reason = limit
        // A piece that exceeds it still when it is this small is tried less often.
        if let halvings, upkeep[keyPath: halvings] < halvingsMax {
          upkeep[keyPath: halvings] += 1
          metrics.increment(.retries, [reason])
          logger.warning("\(kind): trying half of it", metadata: ["error": "\(error)"])
          return true
        }
      // It has waited for as long already.
      case .retry(reason: "lock"): reason = "lock"
      default: throw error
      }
      upkeep[keyPath: earliest] = .now + .seconds(30)
      metrics.increment(.retries, [reason])
      logger.error("\(kind): trying again in half a minute", metadata: ["error": "\(error)"])
      return false
    }
  }

  /// Counts a committed batch.
  func count(_ batch: Batch, work counts: [String: Int], since started: ContinuousClock.Instant) {
    let topic = batch.topic.name(prefix: settings.topicPrefix)
    metrics.increment(.batches, [topic])
    metrics.increment(.records, [topic], by: batch.items.count)
    metrics.observe(.commit, [topic], seconds: (ContinuousClock.now - started) / .seconds(1))
    count(work: counts)
    let now = EventTime.now
    var ages: [Double] = []
    ages.reserveCapacity(batch.items.count)
    for item in batch.items {
      upkeep.lagClock.applied(
        item.record.topicPartition, recordMilliseconds: item.record.timestampMilliseconds,
        nowMilliseconds: now.microseconds / 1000)
      switch item.content {
      case .event(let event):
        ages.append(max(0, Double(now.microseconds - event.time.microseconds) / 1_000_000))
      case .poison(let reason):
        metrics.increment(.deadLetters, [topic, reason.code])
        logger.error(
          "dead letter",
          metadata: [
            "record": "\(item.record.topicPartition)@\(item.record.offset)",
            "code": "\(reason.code)", "reason": "\(reason.message)",
          ])
      }
    }
    metrics.observe(.eventAge, [topic], seconds: ages)
    logTraces(batch)
  }

  /// Logs a line for each traced record after its results are committed, so that one like can be
  /// followed from its producer to its alarm.
  private func logTraces(_ batch: Batch) {
    var lines = 0
    for item in batch.items {
      guard case .event(let event) = item.content, let trace = event.trace else { continue }
      lines += 1
      guard lines <= tracedLinesMax else { continue }
      logger.log(
        level: trace.isSampled ? .info : .debug, "applied",
        metadata: [
          "trace_id": "\(trace.traceID)", "parent_id": "\(trace.parentID)",
          "type": "\(event.type.rawValue)", "event": "\(event.id)",
          "record": "\(item.record.topicPartition)@\(item.record.offset)",
        ])
    }
    if lines > tracedLinesMax {
      logger.info(
        "applied more records that are part of traces",
        metadata: ["records": "\(lines - tracedLinesMax)"])
    }
  }

  private func count(work counts: [String: Int]) {
    for (kind, amount) in counts where amount > 0 {
      metrics.increment(.work, [kind], by: amount)
    }
  }
}
