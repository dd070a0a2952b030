import Dispatch
import Events
import Foundation
import Kafka
import Postgres
import RecordLog
import Synchronization

extension Rebuild {
  /// Applies the records that the live tables are ahead by, in rounds that repeat while each has
  /// fewer records than the one before. Returns the estimated time for the remaining records.
  ///
  /// - Parameter patience: how long to continue although the rounds do not shrink, because workers
  ///   that were blocked are catching up too.
  @discardableResult
  func catchUp(_ schema: ShadowSchema, patience: Duration = .zero) throws -> Duration {
    let deadline = ContinuousClock.now + patience
    var before = Int64.max
    var secondsForEach = 0.0
    while true {
      try copyDiscarded(to: schema)
      let targets = try targets(schema)
      let lag = try lag(schema, behind: targets)
      let expected = Duration.seconds(secondsForEach * Double(lag))
      // The remaining records arrived during the last round: either few, or a steady rate.
      if lag == 0 || (before < .max && expected < .seconds(1)) { return expected }
      if before < .max, lag > before / 10 * 9, expected < .seconds(5) || .now >= deadline {
        return expected
      }
      before = lag
      let started = ContinuousClock.now
      try advance(schema, to: targets, runsBacklog: false)
      secondsForEach = (ContinuousClock.now - started) / .seconds(1) / Double(lag)
    }
  }

  /// The number of records that these tables are behind the targets.
  func lag(_ schema: ShadowSchema, behind targets: Offsets) throws -> Int64 {
    let known = try storedOffsets(schema.name, prefix: schema.topicPrefix)
    var lag: Int64 = 0
    for (group, partitions) in targets {
      for (partition, target) in partitions {
        lag += max(0, target - (known[group]?[partition] ?? 0))
      }
    }
    return lag
  }

  /// The live tables' offsets, or how far they were before they were moved back, which the rebuilt
  /// tables must reach but not exceed. For a consumer group that has never consumed, the log's end
  /// offsets.
  ///
  /// Former live tables must read the topic that they published to up to its end: rebuilding
  /// applied these alarms directly, so the live tables' stored offsets may still be further back.
  func targets(_ schema: ShadowSchema) throws -> Offsets {
    let live = try storedOffsets(schema.live, prefix: schema.topicPrefix)
    let movedBack = try storedOffsets(
      schema.live, prefix: schema.topicPrefix, "coalesce(applied_offset, 0)")
    let spans = try spans(schema)
    let published =
      schema.wasInUse ? Topic.notificationChanges.name(prefix: schema.topicPrefix) : nil
    var targets: Offsets = [:]
    for (group, partitions) in spans {
      for (partition, span) in partitions {
        let stored =
          partition.topic == published
          ? span.upperBound
          : live[group].map { $0[partition] ?? span.lowerBound } ?? span.upperBound
        let moved = movedBack[group]?[partition] ?? 0
        // An offset past the log's end is another log's.
        targets[group, default: [:]][partition] =
          moved <= span.upperBound ? max(stored, moved) : stored
      }
    }
    return targets
  }

  /// The targets while `feed_entries` has no key. When a rebuild is resumed, a topic that is read before one whose
  /// records were applied already stays where it is: of the follows that came meanwhile, some would look for entries.
  func targetsWithoutKeys(_ schema: ShadowSchema) throws -> Offsets {
    var targets = try targets(schema)
    let known = try storedOffsets(schema.name, prefix: schema.topicPrefix)
    for share in Share.all(schema, settings.handlers) {
      var isFollowed = false
      for (group, topic) in share.topics(prefix: schema.topicPrefix).reversed() {
        let stored = (known[group] ?? [:]).filter { $0.key.topic == topic }
        if isFollowed { targets[group]?.merge(stored) { $1 } }
        isFollowed = isFollowed || !stored.isEmpty
      }
    }
    return targets
  }

  /// The offsets held in the log for each group's topics that the rebuild reads.
  func spans(_ schema: ShadowSchema) throws -> [String: [TopicPartition: Range<Int64>]] {
    let topics = Share.all(schema, settings.handlers).flatMap {
      $0.topics(prefix: schema.topicPrefix)
    }
    let spans = try settings.openLog().spans(of: Set(topics.map(\.topic)).sorted())
    var result: [String: [TopicPartition: Range<Int64>]] = [:]
    for (group, topic) in topics {
      result[group, default: [:]].merge(spans.filter { $0.key.topic == topic }) { $1 }
    }
    return result
  }

  /// The consumer groups' stored offsets in a schema, or another column of their rows.
  func storedOffsets(
    _ schema: String, prefix: String, _ column: String = "next_offset"
  ) throws -> Offsets {
    var result: Offsets = [:]
    for row in try control.query(
      """
      SELECT consumer_group, topic, partition, \(column)
      FROM \(quoted(schema)).consumer_offsets WHERE consumer_group = ANY ($1)
      """, [.textArray(TableGroup.allCases.map { prefix + $0.worker })])
    {
      let partition = TopicPartition(topic: try row.text(1), partition: Int32(try row.int(2)))
      result[try row.text(0), default: [:]][partition] = try row.int8(3)
    }
    return result
  }

  /// Advances the tables to the targets, each share on threads of its own.
  ///
  /// - Parameter isWithoutKeys: keeps the order of topics, because a later one has to find what it needs without a key.
  func advance(
    _ schema: ShadowSchema, to targets: Offsets, runsBacklog: Bool, isWithoutKeys: Bool = false
  ) throws {
    let starts = try starts(schema)
    let lag = try lag(schema, behind: targets)
    let known = try storedOffsets(schema.name, prefix: schema.topicPrefix)
    counter.begin(runsBacklog ? "finishing" : "applying records", records: lag)
    let shares = Share.all(schema, settings.handlers)
    let (settings, counter) = (settings, counter)
    @Sendable func replay(_ share: Share, lane: Int32 = 0, of lanes: Int32 = 1) throws {
      func own<Value>(_ offsets: [TopicPartition: Value]) -> [TopicPartition: Value] {
        offsets.filter { $0.key.partition % lanes == lane }
      }
      try counter.part {
        try ShareReplay(share: share, settings: settings, schema: schema, counter: counter)
          .run(starts: own(starts), to: targets.mapValues(own), runsBacklog: runsBacklog)
      }
    }
    let stages = shares.map { share in
      share.stagesAlone.filter { stage in
        stage.topics(prefix: schema.topicPrefix).contains { group, topic in
          targets[group, default: [:]].contains {
            $0.key.topic == topic && known[group]?[$0.key] != $0.value
          }
        }
      }
    }
    let bodies: [@Sendable () throws -> Void]
    if runsBacklog {
      bodies = shares.map { share in { try replay(share) } }
    } else if lag < 20_000, !known.isEmpty, !isWithoutKeys {
      // Connecting and fetching take most of the time, so all topics run in parallel.
      bodies = stages.joined().map { stage in { try replay(stage) } }
    } else {
      bodies = stages.map { stages in
        {
          for stage in stages {
            try inParallel(
              (0..<settings.lanes).map { lane in
                { try replay(stage, lane: lane, of: settings.lanes) }
              })
          }
        }
      }
    }
    try inParallel(bodies) { settings.onProgress(counter.progress) }
  }

  /// Copies the dead letters that were discarded before these tables read their records, so that they are not applied.
  func copyDiscarded(to schema: ShadowSchema) throws {
    try control.query(
      """
      INSERT INTO \(quoted(schema.name)).dead_letters
      SELECT d.* FROM \(quoted(schema.live)).dead_letters d
      WHERE d.consumer_group = ANY ($1) AND d.state = 'discarded'
        AND NOT EXISTS (
          SELECT FROM \(quoted(schema.name)).consumer_offsets o
          WHERE o.consumer_group = d.consumer_group AND o.topic = d.topic
            AND o.partition = d.partition AND o.next_offset > d.record_offset)
        AND NOT EXISTS (
          SELECT FROM \(quoted(schema.name)).dead_letters s
          WHERE s.consumer_group = d.consumer_group AND s.topic = d.topic
            AND s.partition = d.partition AND s.record_offset = d.record_offset
            AND s.state = 'discarded' AND s.reason = d.reason)
      ON CONFLICT (consumer_group, topic, partition, record_offset) DO UPDATE SET
        key = excluded.key, value = excluded.value, header_names = excluded.header_names,
        header_values = excluded.header_values, reason = excluded.reason, state = excluded.state,
        resolved_at = excluded.resolved_at, resolved_by = excluded.resolved_by,
        resolution = excluded.resolution
      """, [schema.consumerGroups])
  }

  /// The offset to start from in every partition: the log start offset, which must be 0 where the
  /// shadow schema has no stored offset yet.
  private func starts(_ schema: ShadowSchema) throws -> [TopicPartition: Int64] {
    let known = try storedOffsets(schema.name, prefix: schema.topicPrefix)
    var starts: [TopicPartition: Int64] = [:]
    for (group, partitions) in try spans(schema) {
      for (partition, span) in partitions.sorted(by: { $0.key < $1.key }) {
        starts[partition] = span.lowerBound
        guard known[group]?[partition] == nil, span.lowerBound > 0,
          !settings.acceptsMissingRecords
        else { continue }
        throw RebuildError(
          "\(partition): the log starts at offset \(span.lowerBound): earlier records are gone, and "
            + "tables rebuilt without them would be incomplete",
          "Give an archive that holds the beginning (--archive DIR), or pass "
            + "--accept-missing-records to rebuild from the remaining records.",
          isLogIncomplete: true)
      }
    }
    return starts
  }

  /// Reports progress, then runs a long step on this thread.
  func waitReporting(_ body: () throws -> Void) throws {
    settings.onProgress(counter.progress)
    try body()
  }
}

/// Runs the bodies on threads until all end; then throws the first error.
///
/// - Parameter whileWaiting: called ten times a second and at the end, on the calling thread.
func inParallel(
  _ bodies: [@Sendable () throws -> Void], whileWaiting: () -> Void = {}
) throws {
  let firstError = Mutex<(any Error)?>(nil)
  let ended = DispatchGroup()
  for body in bodies {
    ended.enter()
    let thread = Thread {
      do {
        try body()
      } catch {
        firstError.withLock { $0 = $0 ?? error }
      }
      ended.leave()
    }
    thread.stackSize = 8 << 20
    thread.start()
  }
  var haveAllEnded = false
  repeat {
    haveAllEnded = ended.wait(timeout: .now() + .milliseconds(100)) == .success
    whileWaiting()
  } while !haveAllEnded
  if let error = firstError.withLock({ $0 }) { throw error }
}
