import Foundation
public import Kafka
public import Logging
public import Pipeline

/// What an archiving process runs with.
public struct ArchiveSettings: Sendable {
  /// Full names.
  public var topics: [String]
  /// What they begin with; left out in metrics.
  public var topicPrefix: String
  /// The consumer group to which progress is reported, for lag tools.
  public var group: String
  /// For messages to people.
  public var directory: String
  /// A segment is finished when it has about so many bytes, or when its oldest record has waited
  /// so long: also the most that the archive lags behind while all goes well.
  public var segmentBytesMax = 64 << 20
  public var segmentAgeMax = Duration.seconds(10)

  public init(topics: [String], topicPrefix: String, group: String, directory: String) {
    self.topics = topics
    self.topicPrefix = topicPrefix
    self.group = group
    self.directory = directory
  }
}

/// Copies topics from Kafka into an archive until it is stopped.
///
/// Assigns itself every partition, because an archive has one writer whatever a consumer group may
/// think, and starts where the manifest says. Not polling is the back-pressure: at most one segment
/// is in memory. Confined to the thread that calls `run`.
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

  /// Runs until asked to stop; throws `WorkerStopped` when only a person can help.
  public func run() throws {
    do {
      let writer = try retrying { try ArchiveWriter(storage) }
      let admin = try Admin(configuration: kafka)
      while !status.isStopping { try consume(writer, admin) }
    } catch is Stopping {
      // What is in memory is in Kafka too, and not in the manifest.
    }
  }

  /// Consumes until asked to stop or until there are more partitions.
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
            logger.info("there are more partitions than before")
            break
          }
        }
      }
    } catch is LogMoved {
      logger.info("the log does not hold what was to be read next; beginning again")
    } catch let error as WorkerStopped {
      // What is in memory may be gone from Kafka by the time that somebody has helped.
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
        logger.warning("Kafka does not answer", metadata: ["error": "\(problem)"])
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
        // Retention has just deleted the last record archived, which was read only to be compared.
        throw LogMoved()
      case .offsetOutOfRange(let partition, let offset, let low?, let high?):
        throw unreadable(partition, at: offset, Watermarks(low: low, high: high))
      case .offsetOutOfRange:
        // The log's bounds say what is to be done, and the broker did not tell them in time: they are
        // asked, for as long as it takes, when consuming begins again.
        throw LogMoved()
      default:
        guard error.isRetriable else {
          throw WorkerStopped(
            reason: "\(error)",
            nextStep: "Check the Kafka address, the security properties and ACLs.")
        }
        logger.warning("polling again", metadata: ["error": "\(error)"])
        return []
      }
    }
  }

  /// Where to start in every partition there is: with the last record archived, to compare it, or
  /// where the archive ends; at the log's beginning in partitions that it does not have yet.
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
      writer.lastRecords.filter { partition, last in
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
          + "\(log.low): the records between were deleted before they were archived",
        nextStep:
          "To go on without them, with the gap recorded in the archive, run: magpie archive "
          + "accept-gap --dir '\(settings.directory)' --topic '\(partition.topic)' --partition "
          + "\(partition.partition) --up-to \(log.low)")
    }
    return WorkerStopped(
      reason: "\(partition): the archive ends at offset \(offset), but Kafka's log ends at "
        + "\(log.high): it is another log than the one archived so far, or has lost its end",
      nextStep: "Archive it to a new directory.")
  }

  private func flush(_ writer: ArchiveWriter, _ consumer: Consumer) throws {
    let flushed = try retrying { try writer.flush() }
    oldestWaits = nil
    guard let flushed else { return }
    for (topic, count) in flushed.recordCounts {
      let name =
        topic.hasPrefix(settings.topicPrefix)
        ? topic.dropFirst(settings.topicPrefix.count) : topic[...]
      metrics.increment(.records, [String(name)], by: count)
    }
    metrics.increment(.archivedSegments)
    metrics.increment(.archivedBytes, by: flushed.byteCount)
    logger.debug(
      "archived",
      metadata: ["generation": "\(writer.manifest.generation)", "bytes": "\(flushed.byteCount)"])
    let offsets = writer.manifest.spans.mapValues(\.upperBound)
    if let error = consumer.commitAsync(offsets.filter { consumer.assignment.contains($0.key) }) {
      logger.debug("offsets not reported to Kafka", metadata: ["error": "\(error)"])
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

/// The log does not hold any more where reading began.
private struct LogMoved: Error {}
