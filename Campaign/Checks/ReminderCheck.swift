import Events
import Postgres

/// Compares what rang with what the log says should have. Everything that the load makes due is due by now.
struct ReminderCheck {
  let log: LogContents
  let prefix: String

  private struct Ring: Hashable {
    var user: String
    var reminder: String
    /// Microseconds since 1970.
    var dueAt: Int64
  }

  /// - Parameter note: is told what rang.
  func findings(_ connection: Connection, note: (String) -> Void) throws -> [Finding] {
    let rows = try connection.query(
      """
      SELECT user_id, reminder_id, due_at, state,
        to_char(occurrence, 'YYYY-MM-DD"T"HH24:MI:SS') AS occurrence, revision
      FROM reminder_rings
      """)
    let changes = changes()
    var (rung, revisions): (Set<Ring>, [[String]: Int]) = ([], [:])
    var findings: [Finding] = []
    for row in rows {
      let (user, reminder, name) = (try row.text(0), try row.text(1), try row.text(4))
      revisions[[user, reminder, name]] = try row.int(5)
      guard user.hasPrefix(ReminderEvents.people) else { continue }
      let events = changes[[user, reminder]] ?? []
      if !events.contains(where: { isOccurrence(name, of: $0) }) {
        findings.append(finding("no occurrence: \(reminder) of \(user), \(name)"))
      }
      guard try row.text(3) == "rung", try events.contains(where: { try dueAt($0) != nil }) else {
        continue
      }
      rung.insert(Ring(user: user, reminder: reminder, dueAt: try row.timestamptz(2)))
    }
    let (certain, possible) = try expected(changes)
    let states = try Dictionary(grouping: rows) { try $0.text(3) }.mapValues(\.count)
    let digests = try rows.count { try $0.text(1).isEmpty }
    note(
      "rings: \(states.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }); \(digests) of "
        + "digests; \(certain.count) reminders due by the log, \(possible.subtracting(certain).count) unsure"
    )
    return findings.prefix(3)
      + certain.subtracting(rung).prefix(3).map { finding("did not ring: \($0)") }
      + rung.subtracting(possible).prefix(3).map { finding("should not have rung: \($0)") }
      + published(revisions)
      + (certain.isEmpty ? [finding("no reminder was due")] : [])
  }

  /// The events of each of the load's reminders, in the order of the log.
  private func changes() -> [[String]: [Event]] {
    var changes: [[String]: [Event]] = [:]
    for event in events(of: .reminders) {
      switch event.payload {
      case .reminderSet(let data): changes[[data.user, data.reminder], default: []].append(event)
      case .reminderCancelled(let data):
        changes[[data.user, data.reminder], default: []].append(event)
      case .reminderCycleSet(let data): changes[[data.user, data.cycle], default: []].append(event)
      case .digestSet(let data): changes[[data.user, ""], default: []].append(event)
      default: break
      }
    }
    return changes.filter { $0.key[0].hasPrefix(ReminderEvents.people) }
  }

  /// What must have rung, and what may have, of reminders that no zone's change moves. They are equal, unless
  /// events of a reminder were stored in another order than they were sent: a worker ignores an event that is older
  /// than one that it has applied, and applies those that arrive together in their order.
  private func expected(_ changes: [[String]: [Event]]) throws
    -> (certain: Set<Ring>, possible: Set<Ring>)
  {
    var (certain, possible): (Set<Ring>, Set<Ring>) = ([], [])
    for (key, events) in changes {
      var applied: [Event] = []
      for event in events where event.version > applied.last?.version ?? Version.none {
        applied.append(event)
      }
      let isInOrder = Set(events.map(\.version)).count == applied.count
      for (index, event) in applied.enumerated() {
        guard let dueAt = try dueAt(event), dueAt > event.time.microseconds else { continue }
        let ring = Ring(user: key[0], reminder: key[1], dueAt: dueAt)
        let end = index + 1 < applied.count ? applied[index + 1].time.microseconds : .max
        if dueAt <= end {
          possible.insert(ring)
          certain.insert(ring)
        }
      }
      guard !isInOrder else { continue }
      for event in events {
        guard let dueAt = try dueAt(event), dueAt > event.time.microseconds else { continue }
        possible.insert(Ring(user: key[0], reminder: key[1], dueAt: dueAt))
      }
    }
    return (certain, possible)
  }

  /// When the event's reminder is due first after it; nil if it is due in the person's zone, or never. A round is
  /// shorter than the time until it is due again.
  private func dueAt(_ event: Event) throws -> Int64? {
    guard case .reminderSet(let data) = event.payload, !data.instant.isEmpty || !data.zone.isEmpty
    else { return nil }
    let offset = data.zone == "Asia/Seoul" ? "+09:00" : "Z"
    let first = try EventTime(rfc3339: data.instant.isEmpty ? data.at + offset : data.instant)
      .microseconds
    let days: Int64 = data.repeat == "FREQ=DAILY" ? 1 : data.repeat == "FREQ=WEEKLY" ? 7 : 0
    guard days > 0, first <= event.time.microseconds else { return first }
    let period = days * 86_400_000_000
    return first + ((event.time.microseconds - first) / period + 1) * period
  }

  /// Whether an event makes something due at this local time, in whatever zone.
  private func isOccurrence(_ local: String, of event: Event) -> Bool {
    let time = String(local.dropFirst(11))
    return switch event.payload {
    case .reminderSet(let data):
      data.at.isEmpty ? data.instant == local + "Z" : String(data.at.dropFirst(11)) == time
    // A window is two minutes, which may include midnight.
    case .reminderCycleSet(let data):
      data.from < data.to
        ? data.from <= time && time < data.to : time >= data.from || time < data.to
    case .digestSet(let data): data.at + ":00" == time
    default: false
    }
  }

  /// Each state of a ring is one event, however often it was published, and the last one was.
  private func published(_ revisions: [[String]: Int]) -> [Finding] {
    var seen: [[String]: [String: Payload]] = [:]
    var findings: [Finding] = []
    for event in events(of: .alarms) where event.source == "magpie/reminder-worker" {
      let key: [String]
      switch event.payload {
      case .alarmRaised(let data): key = [data.recipient, data.subject, data.source]
      case .alarmWithdrawn(let data): key = [data.recipient, data.subject, data.source]
      default: continue
      }
      if let known = seen[key]?[event.id], known != event.payload {
        findings.append(finding("published differently under one id: \(key) \(event.id)"))
      }
      seen[key, default: [:]][event.id] = event.payload
    }
    for (key, events) in seen where events.count > (revisions[key] ?? -1) + 1 {
      findings.append(finding("\(events.count) events of \(key): \(events.keys.sorted())"))
    }
    for (key, revision) in revisions {
      let digits = String(revision, radix: 16)
      let prefix = String(repeating: "0", count: max(0, 8 - digits.count)) + digits + "-"
      guard seen[key]?.keys.contains(where: { $0.hasPrefix(prefix) }) != true else { continue }
      findings.append(finding("revision \(revision) of \(key) was not published"))
    }
    return Array(findings.prefix(3))
  }

  private func events(of topic: Topic) -> [Event] {
    log.events.filter { $0.key.topic == topic.name(prefix: prefix) }.flatMap(\.value)
  }

  private func finding(_ text: String) -> Finding { Finding(check: .reminders, text: text) }
}

extension Version {
  fileprivate static let none = Version(time: EventTime(microseconds: .min), id: "")
}
