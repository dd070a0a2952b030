import Events
import Workload

/// Reminders that are due within seconds, of people of their own. Their times are those of the real clock, so
/// two rounds of a seed differ in them. All are due before the load's end, so that nothing rings while the
/// results are checked.
struct ReminderEvents {
  /// The prefix of the ids of reminders that ring once, at a time that no zone's change moves.
  static let once = "once-"
  private static let seoulOffset: Int64 = 9 * 3_600_000_000

  private var random: SplitMix64
  private let seconds: Double
  private var end: Int64?
  private var made = 0
  /// Events to send later.
  private var pending: [(at: Int64, event: Event)] = []

  init(_ plan: CampaignPlan) {
    random = SplitMix64(seed: plan.seed ^ 0x4E31)
    seconds = plan.seconds
  }

  mutating func next(now: EventTime = .now) -> Event {
    let now = now.microseconds
    let end = end ?? now + Int64(seconds * 1_000_000)
    self.end = end
    if let index = pending.firstIndex(where: { $0.at <= now }) {
      return pending.remove(at: index).event
    }
    made += 1
    let due = min(now + milliseconds(500...15_000), max(end, now + 1_000_000))
    switch Int.random(in: 0..<10, using: &random) {
    case 0: return event(.profileEdited(ProfileEdited(user: person(), zone: zone())), at: now)
    case 1: return event(reminder("weekly-\(made)", at: due, zone: "UTC", "FREQ=WEEKLY"), at: now)
    case 2: return event(reminder("floating-\(made)", at: due, zone: ""), at: now)
    case 3 where now / 60_000_000 * 60_000_000 + 60_000_000 < end: return event(cycle(now), at: now)
    default: return once(due: due, now: now)
    }
  }

  /// A reminder that rings once; half of them are cancelled or moved just before or just after they are due.
  private mutating func once(due: Int64, now: Int64) -> Event {
    let id = "\(Self.once)\(made)"
    let zone = ["", "Asia/Seoul"].randomElement(using: &random) ?? ""
    let set = reminder(id, at: due, zone: zone, instant: zone.isEmpty)
    guard case .reminderSet(let data) = set else { return event(set, at: now) }
    if Bool.random(using: &random) {
      let change = max(now + 1, due + milliseconds(-1000...1000))
      var moved = data
      moved.instant = text(due + 3_000_000) + "Z"
      (moved.at, moved.zone) = ("", "")
      let isMoved = Int.random(in: 0..<3, using: &random) == 0
      let payload =
        isMoved
        ? Payload.reminderSet(moved)
        : .reminderCancelled(.with { ($0.user, $0.reminder) = (data.user, id) })
      // One in three arrives after the worker has rung.
      let isLate = Int.random(in: 0..<3, using: &random) == 0
      pending.append((change + (isLate ? 3_000_000 : 0), event(payload, at: change, "change")))
    }
    return event(set, at: now)
  }

  private mutating func reminder(
    _ id: String, at due: Int64, zone: String, instant: Bool = false, _ rule: String = ""
  ) -> Payload {
    let (user, title) = (person(), "title \(made)")
    let local = text(due + (zone == "UTC" ? 0 : Self.seoulOffset))
    return .reminderSet(
      .with {
        ($0.user, $0.reminder, $0.title, $0.repeat) = (user, id, title, rule)
        if instant { $0.instant = text(due) + "Z" } else { ($0.at, $0.zone) = (local, zone) }
      })
  }

  /// A moment within this minute, and the same on other days.
  private mutating func cycle(_ now: Int64) -> Payload {
    let (user, id) = (person(), "cycle-\(made)")
    return .reminderCycleSet(
      .with {
        ($0.user, $0.cycle, $0.zone, $0.times) = (user, id, "UTC", 1)
        $0.items = [ReminderItem("a", title: "the a"), ReminderItem("b", title: "the b")]
        ($0.from, $0.to) = (minute(now), minute(now + 60_000_000))
      })
  }

  private func minute(_ time: Int64) -> String { String(text(time).dropFirst(11).prefix(5)) }

  private func event(_ payload: Payload, at time: Int64, _ name: String = "reminder") -> Event {
    Event(
      id: "\(name)-\(made)", source: "magpie/campaign", time: EventTime(microseconds: time),
      payload: payload)
  }

  private mutating func milliseconds(_ range: ClosedRange<Int64>) -> Int64 {
    Int64.random(in: range, using: &random) * 1000
  }

  private mutating func person() -> String { "reminded-\(Int.random(in: 0..<8, using: &random))" }

  private mutating func zone() -> String {
    ["Asia/Seoul", "Asia/Kolkata", "America/New_York", ""].randomElement(using: &random) ?? ""
  }
}

/// Whole seconds, such as `2026-11-23T07:00:00`.
private func text(_ time: Int64) -> String {
  String(EventTime(microseconds: time - time % 1_000_000).rfc3339.dropLast())
}
