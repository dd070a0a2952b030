import Events
import Postgres

/// Compares what rang with what the log says should have: of reminders that ring once, and that were due
/// before the load ended.
struct ReminderCheck {
  let log: LogContents
  let prefix: String
  /// Whether a reminder-worker's clock jumped. It may have been behind when a reminder was cancelled just
  /// after it had been due.
  let clocksJumped: Bool

  private struct Ring: Hashable {
    var user: String
    var reminder: String
    /// Microseconds since 1970.
    var dueAt: Int64
  }

  func findings(_ connection: Connection) throws -> [Finding] {
    let rows = try connection.query(
      """
      SELECT user_id, reminder_id, due_at, state,
        to_char(occurrence, 'YYYY-MM-DD"T"HH24:MI:SS') AS occurrence, revision
      FROM reminder_rings
      """)
    var (rung, revisions): (Set<Ring>, [[String]: Int]) = ([], [:])
    for row in rows {
      let (user, reminder) = (try row.text(0), try row.text(1))
      revisions[[user, reminder, try row.text(4)]] = try row.int(5)
      guard reminder.hasPrefix(ReminderEvents.once), try row.text(3) == "rung" else { continue }
      rung.insert(Ring(user: user, reminder: reminder, dueAt: try row.timestamptz(2)))
    }
    let (certain, possible) = try expected()
    return certain.subtracting(rung).prefix(3).map { finding("did not ring: \($0)") }
      + rung.subtracting(possible).prefix(3).map { finding("should not have rung: \($0)") }
      + published(revisions)
      + (certain.isEmpty ? [finding("no reminder was due")] : [])
  }

  /// What must have rung, and what may have: a worker ignores an event that is older than one that it has
  /// applied, and applies those that arrive together in their order.
  private func expected() throws -> (certain: Set<Ring>, possible: Set<Ring>) {
    var changes: [[String]: [Event]] = [:]
    for event in events(of: .reminders) {
      switch event.payload {
      case .reminderSet(let data): changes[[data.user, data.reminder], default: []].append(event)
      case .reminderCancelled(let data):
        changes[[data.user, data.reminder], default: []].append(event)
      default: break
      }
    }
    var (certain, possible): (Set<Ring>, Set<Ring>) = ([], [])
    for (key, events) in changes where key[1].hasPrefix(ReminderEvents.once) {
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
          if end == .max || !clocksJumped { certain.insert(ring) }
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

  private func dueAt(_ event: Event) throws -> Int64? {
    guard case .reminderSet(let data) = event.payload else { return nil }
    let offset = data.zone == "Asia/Seoul" ? "+09:00" : "Z"
    return try EventTime(rfc3339: data.instant.isEmpty ? data.at + offset : data.instant)
      .microseconds
  }

  /// Each state of a ring is one event, however often it was published.
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
