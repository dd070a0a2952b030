import Events
import Kafka
import Logging

/// What a lane does between batches.
struct Upkeep {
  /// Committed to PostgreSQL and not yet told to Kafka.
  var offsetsToReport: [TopicPartition: Int64] = [:]
  var nextReport = ContinuousClock.now
  var nextBacklog = ContinuousClock.now
  var nextDeadLetterCount = ContinuousClock.now
  var nextOwnershipCheck = ContinuousClock.now
  /// The backlog's last piece said that there is more.
  var backlogIsWaiting = false
  var lagClock = LagClock()
  var nextSizing = ContinuousClock.now
}

/// Lines that a batch may write about its traces; the rest is counted in one more.
private let tracedLinesMax = 32

extension Lane {
  /// Tells Kafka's own lag tools, and our metrics, how far this lane is: once a second.
  func reportOffsets(_ consumer: Consumer, isLast: Bool) {
    guard isLast || .now >= upkeep.nextReport else { return }
    upkeep.nextReport = .now + .seconds(1)
    if let error = consumer.commitAsync(upkeep.offsetsToReport) {
      logger.debug("offsets not reported to Kafka", metadata: ["error": "\(error)"])
    }
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

  /// One lane of each consumer group tells how large the database is: once a minute the one that
  /// has the first partition of its first topic.
  func reportDatabaseSize() {
    guard .now >= upkeep.nextSizing, owned[sizingPartition] != nil else { return }
    upkeep.nextSizing = .now + .seconds(60)
    do {
      metrics.set(.databaseSize, to: Double(try store.databaseSizeBytes()))
    } catch {
      // Nothing depends on it; the next batch finds out what is wrong.
      logger.debug("the database's size is unknown", metadata: ["error": "\(error)"])
    }
  }

  private var sizingPartition: TopicPartition {
    TopicPartition(topic: topics.keys.min() ?? "", partition: 0)
  }

  /// The metrics of partitions that are not ours any more.
  func forgetMetrics(of partition: TopicPartition) {
    upkeep.lagClock.forget(partition)
    metrics.remove(.lag, labels(partition))
    metrics.remove(.lagSeconds, labels(partition))
    if partition == sizingPartition { metrics.remove(.databaseSize, []) }
  }

  /// Notices within two seconds that somebody has moved the offsets (`magpie offsets reset`, tables
  /// put back, a failover), also when no record comes whose batch the fence would refuse.
  func checkOwnership() throws {
    guard .now >= upkeep.nextOwnershipCheck, !owned.isEmpty else { return }
    upkeep.nextOwnershipCheck = .now + .seconds(2)
    // Without an answer nothing is known; the next look, or the next batch, finds out.
    guard let isOwner = try? store.isOwner(owned), !isOwner else { return }
    throw Fenced()
  }

  /// Counts what waits for a person, every 15 seconds. Each lane counts all of the group's, so that
  /// there is a number whichever processes run.
  func countDeadLetters() {
    guard .now >= upkeep.nextDeadLetterCount else { return }
    upkeep.nextDeadLetterCount = .now + .seconds(15)
    // Without an answer the last number stands; what is wrong shows at the next batch.
    guard let counts = try? store.openDeadLetters() else { return }
    for topic in topics.keys {
      metrics.set(.openDeadLetters, [topic], to: Double(counts[topic] ?? 0))
    }
  }

  /// Runs a piece of the handler's backlog: after each poll while there is more, else every so often.
  func runBacklog(isIdle: Bool) throws {
    guard let backlog = settings.handler.backlog, .now >= upkeep.nextBacklog else { return }
    do {
      let (counts, hasMore) = try store.runBacklog(backlog())
      count(work: counts)
      upkeep.backlogIsWaiting = hasMore
      upkeep.nextBacklog = hasMore ? .now : .now + (isIdle ? .milliseconds(200) : .seconds(1))
    } catch {
      do {
        metrics.increment(.retries, [try reasonToRetry(error)])
      } catch let poison as Poison {
        // There is no record to dead-letter: what is stored already cannot be worked on.
        throw WorkerStopped(
          reason: "the backlog failed: \(poison.reason)", nextStep: "Run `magpie verify`.")
      }
      logger.warning("backlog: trying again", metadata: ["error": "\(error)"])
      upkeep.backlogIsWaiting = false
      upkeep.nextBacklog = .now + .seconds(1)
    }
  }

  /// Counts a committed batch.
  func count(_ batch: Batch, work counts: [String: Int], since started: ContinuousClock.Instant) {
    let topic = batch.topic.rawValue
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

  /// So that one like can be followed from its producer to its alarm: a line for each record that is
  /// part of a sampled trace, once its results are committed.
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
