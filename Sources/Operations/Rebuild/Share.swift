import Events
import Handling
import Kafka
import Lanes
import Postgres
import RecordLog

/// The part of a rebuild that does not depend on the others: the topics of one table group, in
/// reading order.
///
/// The group's stored offsets change in the same transactions as its tables, so an interrupted
/// share resumes where it stopped.
struct Share: Sendable {
  struct Stage: Sendable {
    var handler: Handler
    var topic: Topic
  }

  var stages: [Stage]
  /// For notifications: the handler that their events are applied to directly instead of being
  /// published.
  var loopback: Handler?

  var handlers: [Handler] {
    var seen: Set<String> = []
    return stages.map(\.handler).filter { seen.insert($0.name).inserted }
  }

  /// The shares of the table groups, which can run in parallel.
  ///
  /// Former live tables may lack alarms whose snapshots were published but not yet consumed when
  /// they were swapped out, so those are read too.
  static func all(_ schema: ShadowSchema, _ handlers: RebuildHandlers) -> [Share] {
    let tableGroups = schema.tableGroups
    func stages(_ handler: Handler, without: Topic? = nil) -> [Stage] {
      handler.topics.filter { $0 != without }
        .sorted {
          (readingOrder.firstIndex(of: $0) ?? .max) < (readingOrder.firstIndex(of: $1) ?? .max)
        }
        .map { Stage(handler: handler, topic: $0) }
    }
    var shares: [Share] = []
    if tableGroups.contains(.feeds) { shares.append(Share(stages: stages(handlers.fanout))) }
    if tableGroups.contains(.notifications) {
      shares.append(
        Share(
          stages: stages(
            handlers.alarm, without: schema.wasInUse ? nil : .notificationChanges)
            + stages(handlers.notification),
          loopback: handlers.alarm))
    } else if tableGroups.contains(.alarms) {
      shares.append(Share(stages: stages(handlers.alarm)))
    }
    if tableGroups.contains(.reminders) { shares.append(Share(stages: stages(handlers.reminder))) }
    return shares
  }

  /// Each stage as a share of its own.
  var stagesAlone: [Share] { stages.map { Share(stages: [$0], loopback: loopback) } }

  /// The topics to read, with their consumer groups.
  func topics(prefix: String) -> [(group: String, topic: String)] {
    stages.map { (prefix + $0.handler.name, $0.topic.name(prefix: prefix)) }
  }
}

/// Runs a share: advances the tables of a shadow schema to given offsets. Confined to one thread.
struct ShareReplay {
  var share: Share
  var settings: RebuildSettings
  var schema: ShadowSchema
  var counter: ProgressCounter

  /// - Parameters:
  ///   - starts: the offset to start from in each partition without a stored offset.
  ///   - targets: by group, the offset to reach in each partition; others stay where they are.
  ///   - runsBacklog: whether to work off the handlers' backlog too.
  func run(
    starts: [TopicPartition: Int64], to targets: [String: [TopicPartition: Int64]],
    runsBacklog: Bool
  ) throws {
    let log = try settings.openLog()
    var appliers: [String: RecordApplier] = [:]
    defer { for applier in appliers.values { applier.close() } }
    for handler in share.handlers {
      let applier = applier(handler)
      appliers[handler.name] = applier
      let topics = Set(
        share.stages.filter { $0.handler.name == handler.name }.map {
          $0.topic.name(prefix: schema.topicPrefix)
        })
      try applier.claim(starts.filter { topics.contains($0.key.topic) })
    }
    for stage in share.stages {
      guard let applier = appliers[stage.handler.name] else { continue }
      try read(stage, by: applier, from: log, to: targets)
    }
    guard runsBacklog else { return }
    // One handler's backlog may create work for the next: notifications go first.
    for handler in [share.handlers.first { $0.name != share.loopback?.name }, share.loopback] {
      if let handler, let applier = appliers[handler.name] {
        counter.add(records: 0, counts: try applier.runBacklog())
      }
    }
  }

  private func read(
    _ stage: Share.Stage, by applier: RecordApplier, from log: any RecordLog,
    to targets: [String: [TopicPartition: Int64]]
  ) throws {
    let topic = stage.topic.name(prefix: schema.topicPrefix)
    var spans: [TopicPartition: Range<Int64>] = [:]
    let held = try log.spans(of: [topic])
    for (partition, target) in targets[schema.topicPrefix + stage.handler.name] ?? [:]
    where partition.topic == topic {
      let next = applier.nextOffsets[partition] ?? 0
      guard next <= target else {
        throw RebuildError(
          "\(partition): the rebuilt tables are at offset \(next), beyond the target \(target): "
            + "the live tables' stored offset was moved back",
          "Let the workers reach \(next), or start again: " + schema.removal)
      }
      guard next < target else { continue }
      spans[partition] = applier.start(of: partition, in: held[partition] ?? 0..<0)..<target
    }
    guard !spans.isEmpty else { return }
    try log.read(spans, maxRecords: settings.batchRecordsMax) { batch in
      try counter.check()
      let applied: RecordApplier.Applied
      do {
        applied = try applier.apply(batch.records, endOffsets: batch.nextOffsets)
      } catch let another as AnotherLog {
        throw RebuildError("\(another)", "Rebuild from the beginning: " + schema.removal)
      }
      counter.add(
        records: applied.records, deadLetters: applied.deadLetters, counts: applied.counts)
    }
  }

  private func applier(_ handler: Handler) -> RecordApplier {
    let loopback = handler.name == share.loopback?.name ? nil : share.loopback
    return RecordApplier(
      handler: handler, consumerGroup: schema.topicPrefix + handler.name,
      topicPrefix: schema.topicPrefix, isFenced: true,
      // An operator compares the tables before swapping them, and records that the workers
      // dead-lettered, however many, must not prevent a rebuild.
      breaker: nil, open: open
    ) { events, connection in
      guard let loopback else {
        throw RebuildError(
          "\(handler.name) published events during a rebuild",
          "This is a bug in Magpie.")
      }
      try loopback.apply(events, inTransactionOf: connection)
    }
  }

  private func open() throws -> Connection {
    let connection = try Connection(settings.databaseURL, applicationName: "magpie-rebuild")
    do {
      try connection.limitLockWaits()
      try connection.script(
        """
        SET search_path = \(schema.searchPath);
        SET idle_in_transaction_session_timeout = '60s';
        -- A crash loses rows and offsets together; the swap's commit makes both durable.
        SET synchronous_commit = off;
        """)
    } catch {
      connection.close()
      throw error
    }
    return connection
  }
}
