import Foundation
public import Kafka
public import Lanes
public import Logging

/// The settings of an archiving process.
public struct ArchiveSettings: Sendable {
  /// Full topic names.
  public var topics: [String]
  /// The consumer group that commits progress to Kafka, for lag monitoring.
  public var group: String
  /// Used in messages to the operator.
  public var directory: String
  /// A segment is written when it reaches about this size or when its oldest record has waited this
  /// long. The age also bounds the archive's lag in normal operation.
  public var segmentBytesMax = 64 << 20
  public var segmentAgeMax = Duration.seconds(10)

  public init(topics: [String], group: String, directory: String) {
    self.topics = topics
    self.group = group
    self.directory = directory
  }
}

/// Copies topics from Kafka into an archive until it is stopped.
///
/// Assigns itself every partition instead of joining the consumer group, because an archive has a
/// single writer, and starts at the manifest's offsets. Applies back-pressure by not polling: at
/// most one segment is in memory. Confined to the thread that calls `run`.
public final class ArchiveLoop {
  private let settings: ArchiveSettings
  private let storage: any ArchiveStorage
  private let kafka: ClientConfiguration
  let status: LaneStatus
  let metrics: Metrics
  let logger: Logger
  private var oldestWaits: ContinuousClock.Instant?
  private var recognition = Recognition()

  public init(
    settings: ArchiveSettings, storage: any ArchiveStorage, kafka: ClientConfiguration,
    status: LaneStatus, metrics: Metrics, logger: Logger
  ) {
    self.settings = settings
    self.storage = storage
    self.kafka = kafka
    self.status = status
    self.metrics = metrics
    self.logger = logger
  }

  /// Runs until asked to stop. Throws `WorkerStopped` for errors that only an operator can resolve.
  public func run() throws {
    do {
      let writer = try retrying { try ArchiveWriter(storage) }
      let admin = try Admin(configuration: kafka)
      while !status.isStopping { try consume(writer, admin) }
    } catch is Stopping {
      // Buffered records are still in Kafka and not yet in the manifest, so nothing is lost.
    }
  }

  /// Consumes until asked to stop or until partitions are added.
  private func consume(_ writer: ArchiveWriter, _ admin: Admin) throws {
    let starts = try retrying { try startingOffsets(writer, admin) }
    status.wait = nil
    let consumer = try Consumer(configuration: kafka, group: settings.group, assigning: starts)
    defer { consumer.close() }
    logger.info(
      "assigned",
      metadata: [
        "partitions": "\(starts.sorted { $0.key < $1.key }.map { "\($0.key)@\($0.value)" })"
      ])
    var nextReport = ContinuousClock.now
    var nextLook = ContinuousClock.now + .seconds(30)
    do {
      while !status.isStopping {
        status.beat()
        let records = try poll(consumer)
        for record in records { try writer.append(record) }
        if !records.isEmpty, oldestWaits == nil { oldestWaits = .now }
        if writer.bufferedByteCount >= settings.segmentBytesMax
          || oldestWaits.map({ .now - $0 >= settings.segmentAgeMax }) ?? false
        {
          try flush(writer, consumer)
        }
        if .now >= nextReport {
          reportLag(writer, consumer)
          metrics.countRefusals(of: consumer, logger: logger)
          nextReport = .now + .seconds(1)
        }
        if .now >= nextLook {
          nextLook = .now + .seconds(30)
          if let counts = try? admin.topics(settings.topics),
            counts.values.reduce(0, +) > starts.count
          {
            logger.info("partitions were added")
            break
          }
        }
      }
    } catch is LogMoved {
      logger.info("the next offset is no longer in the log; restarting")
    } catch let error as WorkerStopped {
      // Kafka may delete the buffered records before an operator resolves the error.
      try? flush(writer, consumer)
      throw error
    }
    try flush(writer, consumer)
  }

  private func poll(_ consumer: Consumer) throws -> [Record] {
    do {
      let records = try consumer.poll(
        maxRecords: 10_000, maxBytes: 8 << 20, timeoutMilliseconds: 100)
      try recognition.check(records)
      let problem = consumer.connectionProblem
      if let problem, status.isReady {
        logger.warning("Kafka does not respond", metadata: ["error": "\(problem)"])
      }
      status.isReady = problem == nil
      return records
    } catch let another as AnotherLog {
      throw WorkerStopped(reason: "\(another)", nextStep: "Archive it to a new directory.")
    } catch let error as ConsumerError {
      status.isReady = false
      switch error {
      case .offsetOutOfRange(let partition, let offset, _, _)
      where recognition.start(of: partition) == offset:
        // Retention has just deleted the last archived record, which is read only to recognize the
        // log.
        throw LogMoved()
      case .offsetOutOfRange(let partition, let offset, let low?, let high?):
        throw unreadable(partition, at: offset, Watermarks(low: low, high: high))
      case .offsetOutOfRange:
        // The error message needs the log's bounds, and the broker did not return them in time.
        // Restarting queries them again and retries until they arrive.
        throw LogMoved()
      case .unreadable:
        throw WorkerStopped.unreadableBatch("\(error)")
      default:
        guard error.isRetriable else {
          throw WorkerStopped(
            reason: "\(error)",
            nextStep: "Check the Kafka address, the security properties and ACLs.")
        }
        logger.warning("poll failed; retrying", metadata: ["error": "\(error)"])
        return []
      }
    }
  }

  /// The offset to start at in every existing partition: the last archived record, to verify it;
  /// the archive's end if that record is unknown; or the log start offset if the partition is new.
  private func startingOffsets(_ writer: ArchiveWriter, _ admin: Admin) throws
    -> [TopicPartition: Int64]
  {
    let watermarks = try admin.watermarks(topics: settings.topics)
    let present = Set(watermarks.keys.map(\.topic))
    if let missing = settings.topics.sorted().first(where: { !present.contains($0) }) {
      if status.wait == nil { status.wait = .topics([missing], since: .now) }
      throw ConsumerError.unknownTopic(missing)
    }
    for (partition, log) in watermarks.sorted(by: { $0.key < $1.key }) {
      guard let next = writer.nextOffset(of: partition) else { continue }
      if next < log.low || next > log.high { throw unreadable(partition, at: next, log) }
    }
    try writer.begin(watermarks.mapValues(\.low))
    recognition = Recognition()
    recognition.expect(
      writer.manifest.lastRecords.filter { partition, last in
        watermarks[partition].map { $0.low..<$0.high ~= last.offset } ?? false
      })
    return watermarks.reduce(into: [:]) { starts, log in
      starts[log.key] =
        recognition.start(of: log.key) ?? writer.nextOffset(of: log.key) ?? log.value.low
    }
  }

  private func unreadable(_ partition: TopicPartition, at offset: Int64, _ log: Watermarks)
    -> WorkerStopped
  {
    if offset < log.low {
      return WorkerStopped(
        reason: "\(partition): the archive ends at offset \(offset), but Kafka's log begins at "
          + "\(log.low): Kafka deleted the records in between before they were archived",
        nextStep:
          "To continue without them and record the gap in the archive, run: magpie archive "
          + "accept-gap --dir '\(settings.directory)' --topic '\(partition.topic)' --partition "
          + "\(partition.partition) --up-to \(log.low)")
    }
    return WorkerStopped(
      reason: "\(partition): the archive ends at offset \(offset), but Kafka's log ends at "
        + "\(log.high): this is a different log, or it was truncated",
      nextStep: "Archive it to a new directory.")
  }

  private func flush(_ writer: ArchiveWriter, _ consumer: Consumer) throws {
    let flushed = try retrying { try writer.flush() }
    oldestWaits = nil
    guard let flushed else { return }
    for (topic, count) in flushed.recordCounts {
      metrics.increment(.records, [topic], by: count)
    }
    metrics.increment(.archivedSegments)
    metrics.increment(.archivedBytes, by: flushed.byteCount)
    logger.debug(
      "archived",
      metadata: ["generation": "\(writer.manifest.generation)", "bytes": "\(flushed.byteCount)"])
    let offsets = writer.manifest.spans.mapValues(\.upperBound)
    if let error = consumer.commitAsync(offsets.filter { consumer.assignment.contains($0.key) }) {
      logger.debug("could not commit offsets to Kafka", metadata: ["error": "\(error)"])
    }
    reportLag(writer, consumer)
  }

  private func reportLag(_ writer: ArchiveWriter, _ consumer: Consumer) {
    for (partition, span) in writer.manifest.spans {
      guard let high = consumer.cachedWatermarks(partition)?.high else { continue }
      metrics.set(
        .lag, [partition.topic, "\(partition.partition)"],
        to: Double(max(0, high - span.upperBound)))
    }
  }
}

/// The offset to read from is no longer in the log.
private struct LogMoved: Error {}
