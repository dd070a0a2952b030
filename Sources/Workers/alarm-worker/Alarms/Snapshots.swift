import AlarmText
import Events
import Foundation
import Handling
import Postgres

/// `notification.changed` and `.retracted`: the newest snapshot of each notification becomes its
/// alarm.
///
/// Snapshots whose generation is not in the lineage of the current notifications come from tables
/// that a rebuild has replaced; they are skipped.
///
/// Profiles are locked and read before rendering. The alarms need no lock, because the writing
/// statement lets the newer snapshot win.
///
/// - Throws: `EventError` if an event has an invalid kind.
func snapshotsWork(_ events: [Event], engine: AlarmTextEngine, isPublishing: Bool) throws -> Work {
  let candidates = try newestSnapshots(events)
  guard !candidates.isEmpty else { return Work([]) }
  var people: Set<BytewiseString> = []
  var retractions: [(notification: UUID, recipient: String)] = []
  for snapshot in candidates {
    guard let content = snapshot.content else {
      retractions.append((snapshot.id, snapshot.recipient))
      continue
    }
    people.insert(BytewiseString(snapshot.recipient))
    if let actor = content.actor { people.insert(BytewiseString(actor)) }
    if let second = content.secondActor { people.insert(BytewiseString(second)) }
  }
  var work = Work([
    planByKey(events: events.count), ensureProfiles(people, retracted: retractions),
  ])
  let profiles = work.add(lockedProfiles(people))
  let current = work.add(lineage)
  work.finish = { [people] results in
    let generations = Set(try results[current].map { try $0.int8(0) })
    let snapshots = newest(candidates.filter { generations.contains($0.generation) })
    guard !snapshots.isEmpty else {
      return Outcome(counts: ["snapshots_of_other_generations": candidates.count])
    }
    guard results[profiles].count == people.count else {
      // A sweep has deleted a row after it was found.
      return Outcome(
        further: try snapshotsWork(events, engine: engine, isPublishing: isPublishing))
    }
    var nicknames: [BytewiseString: String] = [:]
    var locales: [BytewiseString: String] = [:]
    for row in results[profiles] {
      let id = BytewiseString(try row.text(0))
      nicknames[id] = try row.text(1)
      locales[id] = try row.text(2)
    }
    let alarms = try snapshots.map { snapshot in
      Alarm(
        snapshot,
        rendered: try snapshot.content.map { content in
          try content.rendered(
            by: engine, locale: locales[BytewiseString(snapshot.recipient)] ?? "",
            actor: content.actor.flatMap { nicknames[BytewiseString($0)] },
            secondActor: content.secondActor.flatMap { nicknames[BytewiseString($0)] })
        }, kind: (snapshot.content?.code).flatMap(engine.kind))
    }
    let retracted = snapshots.count { $0.content == nil }
    var outcome = Outcome(
      statements: [try writeAlarms(alarms, isPublishing: isPublishing)],
      counts: [
        "alarms_rendered": snapshots.count - retracted, "alarms_retracted": retracted,
        "snapshots_of_other_generations": candidates.count {
          !generations.contains($0.generation)
        },
      ])
    if isPublishing { outcome.eventsFromResults = { try alarmEvents(alarms, written: $0[0]) } }
    return outcome
  }
  return work
}

/// Snapshots from before their recipient's erasure retract alarms of the recipient's new life: nothing that happened since
/// is left of their notifications.
func erasedSnapshotsWork(
  _ events: [ErasedEvent], engine: AlarmTextEngine, isPublishing: Bool
) throws -> Work {
  let retractions = events.compactMap { (erased) -> Event? in
    var event = erased.event
    // Later than the erasure, or consumers and archives would forget the retraction.
    event.time = .now
    switch event.payload {
    case .notificationChanged(let data):
      event.payload = .notificationRetracted(
        .with {
          ($0.notification, $0.recipient) = (data.notification, data.recipient)
          ($0.generation, $0.counter) = (data.generation, data.counter)
        })
    case .notificationRetracted: break
    default: return nil
    }
    return event
  }
  guard !retractions.isEmpty else { return Work() }
  let ids = try retractions.compactMap { try Snapshot($0)?.id }
  var work = Work([planByKey(keepsPlans: false)])
  let found = work.add(
    Statement(
      """
      SELECT a.notification_id FROM alarms a
      JOIN erasures e ON e.person_hash = person_hash(a.recipient)
      WHERE a.notification_id = ANY ($1::uuid[]) AND NOT a.retracted AND a.raised_at > e.erased_at
      """, [.uuidArray(ids)]))
  work.finish = { results in
    let alarms = Set(try results[found].map { try $0.uuid(0) })
    let effective = zip(retractions, ids).filter { alarms.contains($0.1) }.map(\.0)
    return Outcome(
      further: try snapshotsWork(effective, engine: engine, isPublishing: isPublishing))
  }
  return work
}

/// The generations whose snapshots belong to the current notifications.
private let lineage = Statement("SELECT generation FROM notification_generations")

/// The state of a notification according to one event.
struct Snapshot: Sendable {
  var id: UUID
  var recipient: String
  var generation: Int64
  var counter: Int64
  /// Nil if retracted.
  var content: AlarmContent?
  var post: String?
  var comment: String?
  /// Of kinds raised by `alarm.raised`, and only part of their links.
  var subject: String?
  var source: String?
  var imageURL: String?
  /// Microseconds since 1970.
  var raisedAt: Int64?
  /// Of the event; nil if the snapshot is that of a stored alarm.
  var time: EventTime?
  var trace: TraceContext?

  /// Nil for an event of another type.
  init?(_ event: Event) throws(EventError) {
    (time, trace) = (event.time, event.trace)
    switch event.payload {
    case .notificationChanged(let data):
      id = try uuid(data.notification)
      (recipient, generation, counter) = (data.recipient, data.generation, data.counter)
      content = AlarmContent(
        code: try AlarmCode(named: Int(data.type)), actor: presence(data.actor),
        secondActor: presence(data.secondActor),
        actorCount: data.actorCount, contributionCount: data.contributionCount,
        headText: data.headText, arguments: data.arguments)
      (subject, source) = (presence(data.subject), presence(data.source))
      imageURL = presence(data.imageURL)
      (post, comment) = (presence(data.post), presence(data.comment))
      raisedAt = data.raisedAt
    case .notificationRetracted(let data):
      id = try uuid(data.notification)
      (recipient, generation, counter) = (data.recipient, data.generation, data.counter)
    default: return nil
    }
  }
}

extension Snapshot {
  /// The snapshot that a stored alarm shows, from a row of `take_alarms_to_publish`.
  init(_ row: Row) throws {
    id = try row.uuid("notification_id")
    recipient = try row.text("recipient")
    generation = try row.int8("generation")
    counter = try row.int8("counter")
    guard let type = try row.intOrNil("type") else { return }
    content = AlarmContent(
      code: try AlarmCode(named: type),
      actor: try row.textOrNil("actor"),
      secondActor: try row.textOrNil("second_actor"),
      actorCount: try row.int8("actor_count"),
      contributionCount: try row.int8("contribution_count"),
      headText: try row.text("head_text"),
      arguments: try row.textOrNil("arguments").map(jsonMembers) ?? [:])
    post = try row.textOrNil("post_id")
    comment = try row.textOrNil("comment_id")
    imageURL = try row.textOrNil("image_url")
    raisedAt = try row.timestamptzOrNil("raised_at")
  }
}

extension Snapshot {
  /// The fields of links by name; those that the notification does not have are empty.
  var linkFields: [String: String] {
    var fields = content?.arguments ?? [:]
    fields["post"] = post ?? ""
    fields["comment"] = comment ?? ""
    fields["actor"] = content?.actor ?? ""
    fields["recipient"] = recipient
    fields["subject"] = subject ?? ""
    fields["source"] = source ?? ""
    return fields
  }
}

private func uuid(_ text: String) throws(EventError) -> UUID {
  guard let id = UUID(uuidString: text) else {
    throw EventError(.badID, "notification is not a UUID.", field: "notification")
  }
  return id
}

/// The newest snapshot of each notification in each generation. Which generations are valid is only
/// known inside the transaction.
func newestSnapshots(_ events: [Event]) throws -> [Snapshot] {
  struct Key: Hashable {
    var id: UUID
    var generation: Int64
  }
  var newest: [Key: Snapshot] = [:]
  for snapshot in try events.compactMap({ try Snapshot($0) }) {
    let key = Key(id: snapshot.id, generation: snapshot.generation)
    if let known = newest[key], known.counter >= snapshot.counter { continue }
    newest[key] = snapshot
  }
  return Array(newest.values)
}

/// The newest snapshot of each notification, in id order.
private func newest(_ snapshots: [Snapshot]) -> [Snapshot] {
  var newest: [UUID: Snapshot] = [:]
  for snapshot in snapshots {
    if let known = newest[snapshot.id], known.generation > snapshot.generation { continue }
    newest[snapshot.id] = snapshot
  }
  return newest.values.sorted { $0.id < $1.id }
}

/// Nil for an empty id: an absent id is an empty string on the wire and NULL in the tables.
private func presence(_ id: String) -> String? { id.isEmpty ? nil : id }
