import Events
import Kafka
import Kinds
import Model
import RecordLog

/// One model per consumer group, fed with the events that concern one slice of people.
///
/// Reads the log up to four times: for the authors to whom people of the slice ever subscribed; for the
/// posts, comments, likes and messages that ever named one of these authors or a person of the slice,
/// because an event that takes them away may not name that person; for the events; and for the profiles of the slice's people and of the people in their alarms.
struct SliceModels {
  let slice: Slice
  private(set) var feeds: Model
  private(set) var notifications = Model()
  private(set) var profiles = Model()
  private(set) var reminders = Model()
  /// Records that cannot be decoded but are not dead letters.
  private(set) var unexplained: [(record: Record, group: String, reason: String)] = []
  private(set) var shown: [ModelNotification] = []

  private let snapshot: Snapshot
  private let log: any RecordLog
  private let prefix: String
  private let counted: (Int) -> Void
  private var erased: ErasedPeople
  private var facts: [Worker: Set<BytewiseString>] = [:]
  /// The authors to whom people of the slice ever subscribed.
  private var authors: Set<BytewiseString> = []

  /// - Parameters:
  ///   - erased: those of the snapshot.
  ///   - kinds: the registry that the workers use.
  ///   - counted: called with the number of records read since the last call.
  init(
    _ slice: Slice, _ snapshot: Snapshot, _ log: any RecordLog, prefix: String,
    erased: ErasedPeople, kinds: AlarmKinds, counted: @escaping (Int) -> Void
  ) throws {
    (self.slice, self.snapshot, self.log) = (slice, snapshot, log)
    (self.prefix, self.counted, self.erased) = (prefix, counted, erased)
    feeds = Model(formerIDs: erased.formerIDs)
    notifications = Model(kinds: kinds)
    // Once one worker has applied an erasure, no other applies what it erases. What others have yet to delete
    // is in flight.
    for event in erased.events {
      for model in [\Self.feeds, \.notifications, \.profiles, \.reminders] {
        self[keyPath: model].apply(event)
      }
    }
    if slice.count > 1 {
      try read([.subscriptions], explaining: false) { models, worker, event in
        if models.concerns(event, worker) { models.authors.insert(BytewiseString(event.key)) }
      }
      try read([.posts, .comments, .likes, .messages], explaining: false) { models, worker, event in
        if let fact = worker.fact(event.payload),
          models.concerns(event, worker) || worker == .notification && models.isAnnounced(event)
        {
          models.facts[worker, default: []].insert(fact)
        }
      }
    }
    try read(Set(Topic.allCases.filter { !$0.isInternal && $0 != .profiles })) {
      models, worker, event in
      let isNeeded =
        worker.fact(event.payload).map { models.facts[worker]?.contains($0) ?? false }
        ?? models.concerns(event, worker)
      guard isNeeded || models.slice.count == 1 else { return }
      switch worker {
      case .fanout: models.feeds.apply(event)
      case .notification: models.notifications.apply(event)
      case .alarm: break
      case .reminder: models.reminders.apply(event)
      }
    }
    (facts, authors) = ([:], [])
    shown = notifications.notifications.filter { slice.contains($0.recipient) }
    let named = shown.reduce(into: Set<BytewiseString>()) { people, notification in
      if let actor = notification.actor { people.insert(BytewiseString(actor)) }
      if let second = notification.secondActor { people.insert(BytewiseString(second)) }
    }
    try read([.profiles]) { models, worker, event in
      let isNeeded = models.concerns(event, worker)
      if worker == .reminder {
        if isNeeded { models.reminders.apply(event) }
      } else if isNeeded || named.contains(BytewiseString(event.key)) {
        models.profiles.apply(event)
      }
    }
  }

  /// Whether the event is a post of an author to whom people of the slice subscribed.
  private func isAnnounced(_ event: Event) -> Bool {
    event.topic == .posts && authors.contains(BytewiseString(event.key))
  }

  private func concerns(_ event: Event, _ worker: Worker) -> Bool {
    guard slice.count > 1 else { return true }
    if worker == .fanout, case .messageSent(let data) = event.payload,
      let former = erased.formerIDs[.init(data.receiver)], slice.contains(former)
    {
      return true
    }
    return worker.slicedBy(event.payload).contains { slice.contains($0) }
  }

  /// Calls `body` with every event of the topics for each worker that has applied it.
  ///
  /// - Parameter explaining: whether records that cannot be decoded count as unexplained; false for all but one of
  ///   the passes over a topic.
  private mutating func read(
    _ topics: Set<Topic>, explaining: Bool = true,
    _ body: (inout SliceModels, Worker, Event) -> Void
  ) throws {
    let now = EventTime.now
    let spans = try snapshot.spans(of: topics, prefix: prefix, in: log)
    let workers = Dictionary(
      uniqueKeysWithValues: topics.map { topic in
        (topic, Worker.allCases.filter { $0.topics.contains(topic) })
      })
    try log.read(spans, maxRecords: 2000) { batch in
      counted(batch.records.count)
      guard let topic = Topic(name: batch.topic, prefix: prefix) else { return }
      for record in batch.records {
        let applied = (workers[topic] ?? []).filter {
          snapshot.holds(record, of: $0.consumerGroup(prefix: prefix))
        }
        guard !applied.isEmpty else { continue }
        do throws(EventError) {
          let event = try EventCodec.decode(
            record.wire, topic: topic, now: now, jsonPayload: payloadReadByFoundation)
          for worker in applied { body(&self, worker, event) }
        } catch {
          guard explaining, unexplained.count < 1000 else { continue }
          let group = applied[0].consumerGroup(prefix: prefix)
          unexplained.append((record, group, error.message))
        }
      }
    }
  }
}
