import Comparison
import Events
import Kafka
import Model
import RecordLog

/// One model for each consumer group, fed with what concerns one slice of people.
///
/// The log is read up to three times: first for the posts, comments, likes and messages that ever
/// named somebody of the slice, because an event that takes them away need not; then for the events; and
/// last for the profiles of the slice's people and of those whom their alarms name.
struct SliceModels {
  let slice: Slice
  private(set) var feeds = Model()
  private(set) var notifications = Model()
  private(set) var profiles = Model()
  /// Records that cannot be decoded and are no dead letters.
  private(set) var unexplained: [(record: Record, group: String, reason: String)] = []
  private(set) var shown: [ModelNotification] = []

  private let snapshot: Snapshot
  private let log: any RecordLog
  private let prefix: String
  private let counted: (Int) -> Void
  private var facts: [Reader: Set<BytewiseString>] = [:]

  /// - Parameter counted: called with how many records were read since the last time.
  init(
    _ slice: Slice, _ snapshot: Snapshot, _ log: any RecordLog, prefix: String,
    counted: @escaping (Int) -> Void
  ) throws {
    (self.slice, self.snapshot, self.log) = (slice, snapshot, log)
    (self.prefix, self.counted) = (prefix, counted)
    if slice.count > 1 {
      try read([.posts, .comments, .likes, .messages]) { models, reader, event in
        if let fact = reader.fact(event.payload), models.concerns(event, reader) {
          models.facts[reader, default: []].insert(fact)
        }
      }
    }
    try read(Set(Topic.allCases).subtracting([.profiles, .notificationChanges])) {
      models, reader, event in
      let isNeeded =
        reader.fact(event.payload).map { models.facts[reader]?.contains($0) ?? false }
        ?? models.concerns(event, reader)
      guard isNeeded || models.slice.count == 1 else { return }
      if reader == .fanout {
        models.feeds.apply(event)
      } else {
        models.notifications.apply(event)
      }
    }
    facts = [:]
    shown = notifications.notifications.filter { slice.contains($0.recipient) }
    let named = shown.reduce(into: Set<BytewiseString>()) { people, notification in
      people.insert(BytewiseString(notification.actor))
      if let second = notification.secondActor { people.insert(BytewiseString(second)) }
    }
    try read([.profiles]) { models, reader, event in
      if named.contains(BytewiseString(event.key)) || models.concerns(event, reader) {
        models.profiles.apply(event)
      }
    }
  }

  private func concerns(_ event: Event, _ reader: Reader) -> Bool {
    slice.count == 1 || reader.slicedBy(event.payload).contains { slice.contains($0) }
  }

  /// Every event of the topics that a group has applied.
  private mutating func read(
    _ topics: Set<Topic>, _ body: (inout SliceModels, Reader, Event) -> Void
  ) throws {
    let now = EventTime.now
    let spans = try snapshot.spans(of: topics, prefix: prefix, in: log)
    let readers = Dictionary(
      uniqueKeysWithValues: topics.map { topic in
        (topic, Reader.allCases.filter { $0.topics.contains(topic) })
      })
    try log.read(spans, maxRecords: 2000) { batch in
      counted(batch.records.count)
      guard let topic = Topic(name: batch.topic, prefix: prefix) else { return }
      for record in batch.records {
        let applied = (readers[topic] ?? []).filter {
          snapshot.holds(record, of: $0.consumerGroup(prefix: prefix))
        }
        guard !applied.isEmpty else { continue }
        let wire = WireRecord(
          key: record.key, value: record.value,
          headers: record.headers.map { WireRecord.Header($0.name, $0.value) })
        do throws(EventError) {
          let event = try EventCodec.decode(
            wire, topic: topic, now: now, jsonPayload: payloadReadByFoundation)
          for reader in applied { body(&self, reader, event) }
        } catch {
          guard unexplained.count < 1000 else { continue }
          let group = applied[0].consumerGroup(prefix: prefix)
          unexplained.append((record, group, error.message))
        }
      }
    }
  }
}
