import Events
public import Kafka
import Postgres
import RecordLog

/// Why the tables cannot be compared with the log.
public enum DeepVerificationError: Error, CustomStringConvertible {
  /// The log's beginning was deleted; its first offsets.
  case logIncomplete([TopicPartition: Int64])
  /// A stored offset is beyond the log's end offset.
  case logTooShort(TopicPartition, group: String, stored: Int64, end: Int64)

  public var description: String {
    switch self {
    case .logIncomplete(let starts):
      "the beginning of the log was deleted, so the tables cannot be recomputed: "
        + starts.sorted { $0.key < $1.key }.prefix(8)
        .map { "\($0.key) starts at offset \($0.value)" }.joined(separator: ", ")
        + (starts.count > 8 ? " and \(starts.count - 8) more" : "")
    case .logTooShort(let partition, let group, let stored, let end):
      "\(group) has stored offset \(stored) of \(partition), but the log ends at \(end): it is not "
        + "the log that these tables were built from"
    }
  }
}

/// The stored offsets and dead letters that one transaction sees.
struct Snapshot {
  private struct Place: Hashable {
    var group: String
    var partition: TopicPartition
    var offset: Int64
  }

  /// The next offset of each group and partition.
  private(set) var next: [String: [TopicPartition: Int64]] = [:]
  private var deadLetters: Set<Place> = []

  /// - Parameter connection: in a REPEATABLE READ transaction.
  init(_ connection: Connection, prefix: String) throws {
    let groups = ConsumerGroup.allCases.map { $0.name(prefix: prefix) }
    for row in try connection.query(
      """
      SELECT consumer_group, topic, partition, next_offset FROM consumer_offsets
      WHERE consumer_group = ANY ($1)
      """, [.textArray(groups)])
    {
      let partition = TopicPartition(
        topic: try row.text(1), partition: Int32(try row.int(2)))
      next[try row.text(0), default: [:]][partition] = try row.int8(3)
    }
    for row in try connection.query(
      """
      SELECT consumer_group, topic, partition, record_offset FROM dead_letters
      WHERE consumer_group = ANY ($1) AND state IN ('open', 'discarded')
      """, [.textArray(groups)])
    {
      deadLetters.insert(
        Place(
          group: try row.text(0),
          partition: TopicPartition(topic: try row.text(1), partition: Int32(try row.int(2))),
          offset: try row.int8(3)))
    }
  }

  /// Whether the group has applied the record: it is below the stored offset and is not a dead
  /// letter.
  func holds(_ record: Record, of group: String) -> Bool {
    guard record.offset < next[group]?[record.topicPartition] ?? 0 else { return false }
    return deadLetters.isEmpty
      || !deadLetters.contains(
        Place(group: group, partition: record.topicPartition, offset: record.offset))
  }

  /// The erasures that any worker has applied, and at how many offsets the log has no record: requests that were erased
  /// from an archive are among these.
  func erasures(in log: any RecordLog, prefix: String) throws -> (events: [Event], absent: Int) {
    let groups = ConsumerGroup.allCases.map { $0.name(prefix: prefix) }
    let now = EventTime.now
    var events: [Event] = []
    let spans = try log.spans(of: [Topic.erasures.name(prefix: prefix)])
    var absent = spans.values.reduce(0) { $0 + $1.count }
    try log.read(spans.filter { !$0.value.isEmpty }, maxRecords: 2000) { batch in
      absent -= batch.records.count
      for record in batch.records where groups.contains(where: { holds(record, of: $0) }) {
        let event = try? EventCodec.decode(
          record.wire, topic: .erasures, now: now, jsonPayload: payloadReadByFoundation)
        if let event { events.append(event) }
      }
    }
    return (events, absent)
  }

  /// The erasures of people whom the log names, but without their requests.
  ///
  /// - Parameter times: when people were erased, by who they are to those who wrote to them.
  func erasures(
    at times: [String: EventTime], of topics: Set<Topic>, in log: any RecordLog, prefix: String,
    on connection: Connection
  ) throws -> [Event] {
    var erasures: [BytewiseString: EventTime] = [:]
    var known: Set<BytewiseString> = []
    let now = EventTime.now
    try log.read(spans(of: topics, prefix: prefix, in: log), maxRecords: 2000) { batch in
      guard let topic = Topic(name: batch.topic, prefix: prefix) else { return }
      if known.count > 100_000 { known.removeAll() }
      let people = batch.records.flatMap { record in
        let event = try? EventCodec.decode(
          record.wire, topic: topic, now: now, jsonPayload: payloadReadByFoundation)
        return event?.people ?? []
      }.filter { known.insert(BytewiseString($0)).inserted }
      for (person, id) in try formerIDs(of: people, on: connection) { erasures[person] = times[id] }
    }
    return erasures.map { person, time in
      Event(
        id: "", source: "", time: time,
        payload: .userErased(.with { $0.user = person.string }))
    }
  }

  /// The offsets to read to cover every group's applied records.
  ///
  /// - Throws: `DeepVerificationError` when the log does not hold them.
  func spans(
    of topics: Set<Topic>, prefix: String, in log: any RecordLog
  ) throws -> [TopicPartition: Range<Int64>] {
    let names = topics.map { $0.name(prefix: prefix) }.sorted()
    let held = try log.spans(of: names)
    var ends: [TopicPartition: Int64] = [:]
    for worker in Worker.allCases {
      let group = worker.consumerGroup(prefix: prefix)
      let read = Set(worker.topics.filter { topics.contains($0) }.map { $0.name(prefix: prefix) })
      for (partition, offset) in next[group] ?? [:] where read.contains(partition.topic) {
        let end = held[partition]?.upperBound ?? 0
        guard offset <= end else {
          throw DeepVerificationError.logTooShort(
            partition, group: group, stored: offset, end: end)
        }
        ends[partition] = max(ends[partition] ?? 0, offset)
      }
    }
    let late = ends.filter { $0.value > 0 }.keys.reduce(into: [TopicPartition: Int64]()) {
      let start = held[$1]?.lowerBound ?? 0
      if start > 0 { $0[$1] = start }
    }
    guard late.isEmpty else { throw DeepVerificationError.logIncomplete(late) }
    return ends.mapValues { 0..<$0 }
  }

  /// The notifications in records that the alarm-worker had not applied in the snapshot.
  func unapplied(
    in log: any RecordLog, prefix: String, slice: Slice = Slice(0, of: 1)
  ) throws -> Set<String> {
    let topic = Topic.notificationChanges.name(prefix: prefix)
    let next = self.next[Worker.alarm.consumerGroup(prefix: prefix)] ?? [:]
    let spans = try log.spans(of: [topic]).reduce(into: [TopicPartition: Range<Int64>]()) {
      let start = max($1.value.lowerBound, next[$1.key] ?? 0)
      if start < $1.value.upperBound { $0[$1.key] = start..<$1.value.upperBound }
    }
    var ids: Set<String> = []
    let now = EventTime.now
    try log.read(spans, maxRecords: 2000) { batch in
      for record in batch.records {
        guard
          let event = try? EventCodec.decode(record.wire, topic: .notificationChanges, now: now),
          slice.contains(event.key)
        else { continue }
        switch event.payload {
        case .notificationChanged(let data): ids.insert(data.notification.lowercased())
        case .notificationRetracted(let data): ids.insert(data.notification.lowercased())
        default: break
        }
      }
    }
    return ids
  }
}
