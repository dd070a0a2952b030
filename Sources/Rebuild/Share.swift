import Events
import Kafka
import Pipeline
import Postgres
import RecordLog

/// The share of a rebuild that one thread does: the topics of one room, in the order of reading.
///
/// The room's offsets move with its tables, so a share that was cut off goes on where it was.
struct Share: Sendable {
  struct Stage: Sendable {
    var handler: Handler
    var topic: Topic
  }

  var stages: [Stage]
  /// Notifications: what their events are applied to at once, instead of being published.
  var loopback: Handler?

  var handlers: [Handler] {
    var seen: Set<String> = []
    return stages.map(\.handler).filter { seen.insert($0.name).inserted }
  }

  /// The shares of the rooms; each can be done beside the others.
  ///
  /// Tables that were in use once may lack alarms whose snapshots were published and not yet read
  /// when they went out of use: those are read, too.
  static func all(_ schema: ShadowSchema, _ handlers: RebuildHandlers) -> [Share] {
    let rooms = schema.rooms
    func stages(_ handler: Handler, without: Topic? = nil) -> [Stage] {
      handler.topics.filter { $0 != without }
        .sorted {
          (readingOrder.firstIndex(of: $0) ?? .max) < (readingOrder.firstIndex(of: $1) ?? .max)
        }
        .map { Stage(handler: handler, topic: $0) }
    }
    var shares: [Share] = []
    if rooms.contains(.feeds) { shares.append(Share(stages: stages(handlers.fanout))) }
    if rooms.contains(.notifications) {
      shares.append(
        Share(
          stages: stages(
            handlers.alarm, without: schema.wasInUse ? nil : .notificationChanges)
            + stages(handlers.notification),
          loopback: handlers.alarm))
    } else if rooms.contains(.alarms) {
      shares.append(Share(stages: stages(handlers.alarm)))
    }
    return shares
  }

  /// The topics to read, with the group that consumes each.
  func topics(prefix: String) -> [(group: String, topic: String)] {
    stages.map { (prefix + $0.handler.name, $0.topic.name(prefix: prefix)) }
  }
}

/// Does a share: brings the tables of a shadow to given offsets. Confined to one thread.
struct ShareReplay {
  var share: Share
  var settings: RebuildSettings
  var schema: ShadowSchema
  var counter: ProgressCounter

  /// - Parameters:
  ///   - starts: where to begin in each partition that the shadow has no offset of.
  ///   - targets: by group, the offset to reach in each partition; others stay where they are.
  ///   - runsBacklog: whether the handlers' housekeeping is done to its end, too.
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
    // What one leaves may be work for the next: notifications first.
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
          "\(partition): the rebuilt tables are at offset \(next), beyond \(target), where they "
            + "should be: somebody moved the offsets of the tables in use back",
          "Let the workers come to \(next), or start again: " + ShadowSchema.nextStep)
      }
      guard next < target else { continue }
      spans[partition] = applier.start(of: partition, in: held[partition] ?? 0..<0)..<target
    }
    guard !spans.isEmpty else { return }
    try log.read(spans, maxRecords: settings.batchRecordsMax) { batch in
      let applied: RecordApplier.Applied
      do {
        applied = try applier.apply(batch.records, reach: batch.nextOffsets)
      } catch let another as AnotherLog {
        throw RebuildError("\(another)", "Rebuild from the beginning: " + ShadowSchema.nextStep)
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
      // A person compares the tables before they are used; and what the workers have passed, however
      // much it was, must not keep tables from being rebuilt.
      breaker: nil, open: open
    ) { events, connection in
      guard let loopback else {
        throw RebuildError(
          "\(handler.name) publishes events, which a rebuild does not",
          "This is a defect of Magpie.")
      }
      try loopback.apply(events, inTransactionOf: connection)
    }
  }

  private func open() throws -> Connection {
    let connection = try Connection(settings.databaseURL, applicationName: "magpie-rebuild")
    do {
      try connection.script(
        """
        SET search_path = \(schema.searchPath);
        SET lock_timeout = '30s';
        SET idle_in_transaction_session_timeout = '60s';
        -- The offsets are lost with the rows; the exchange makes all of it durable.
        SET synchronous_commit = off;
        """)
    } catch {
      connection.close()
      throw error
    }
    return connection
  }
}
