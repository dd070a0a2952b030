import Events
import Kafka
import Logging

/// What a lane does between batches.
struct Upkeep {
  /// Committed to PostgreSQL and not yet told to Kafka.
  var offsetsToReport: [TopicPartition: Int64] = [:]
  var nextReport = ContinuousClock.now
  var nextBacklog = ContinuousClock.now
  /// The backlog's last piece said that there is more.
  var backlogIsWaiting = false
}

extension Lane {
  /// Tells Kafka's own lag tools, and our metrics, how far this lane is: once a second.
  func reportOffsets(_ consumer: Consumer, isLast: Bool) {
    guard isLast || .now >= upkeep.nextReport else { return }
    upkeep.nextReport = .now + .seconds(1)
    if let error = consumer.commitAsync(upkeep.offsetsToReport) {
      logger.debug("offsets not reported to Kafka", metadata: ["error": "\(error)"])
    }
    upkeep.offsetsToReport = [:]
    for (partition, ownership) in owned {
      guard let high = consumer.cachedWatermarks(partition)?.high else { continue }
      metrics.set(.lag, labels(partition), to: Double(max(0, high - ownership.nextOffset)))
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
  }

  private func count(work counts: [String: Int]) {
    for (kind, amount) in counts where amount > 0 {
      metrics.increment(.work, [kind], by: amount)
    }
  }
}
