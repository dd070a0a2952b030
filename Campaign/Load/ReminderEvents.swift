import Events
import Workload

/// Reminders, cycles and digests of people of their own, which are due within the hour that a round has on
/// `HourClock`. Their times are the clock's, so two rounds of a seed differ in them. All are due before the load's
/// end, so that nothing rings while the results are checked.
struct ReminderEvents {
  /// The prefix of the ids of these people.
  static let people = "reminded-"
  private static let seoulOffset: Int64 = 9 * 3_600_000_000

  private var random: SplitMix64
  private let clock: HourClock
  private var made = 0
  /// Events to send later.
  private var pending: [(at: Int64, event: Event)] = []

  init(_ plan: CampaignPlan, clock: HourClock) {
    random = SplitMix64(seed: plan.seed ^ 0x4E31)
    self.clock = clock
  }

  mutating func next() -> Event {
    let now = clock.now.microseconds
    let end = clock.end.microseconds
    if let index = pending.firstIndex(where: { $0.at <= now }) {
      return pending.remove(at: index).event
    }
    made += 1
    // To the second, because reminders are.
    let due = min(now + spread(500...15_000), max(end, now + 2_000_000)) / 1_000_000 * 1_000_000
    switch Int.random(in: 0..<12, using: &random) {
    case 0: return event(.profileEdited(ProfileEdited(user: person(), zone: zone())), at: now)
    case 1: return event(repeating(due), at: now)
    case 2: return event(reminder("floating-\(made)", at: due, zone: ""), at: now)
    case 3 where due + 120_000_000 < end: return event(cycle(due), at: now)
    case 4 where due < end: return event(digest(due), at: now)
    default: return once(due: due, now: now)
    }
  }

  /// A reminder that rings once; half of them are cancelled or moved just before or just after they are due.
  private mutating func once(due: Int64, now: Int64) -> Event {
    let id = "once-\(made)"
    let zone = ["", "Asia/Seoul"].randomElement(using: &random) ?? ""
    let set = reminder(id, at: due, zone: zone, instant: zone.isEmpty)
    guard case .reminderSet(let data) = set else { return event(set, at: now) }
    if Bool.random(using: &random) {
      let change = max(now + 1, due + spread(-1000...1000))
      let later = due + spread(3000...3000) / 1_000_000 * 1_000_000
      var moved = data
      moved.instant = text(later) + "Z"
      (moved.at, moved.zone) = ("", "")
      let isMoved = Int.random(in: 0..<3, using: &random) == 0 && later <= clock.end.microseconds
      let payload =
        isMoved
        ? Payload.reminderSet(moved)
        : .reminderCancelled(.with { ($0.user, $0.reminder) = (data.user, id) })
      // One in three arrives after the worker has rung.
      let isLate = Int.random(in: 0..<3, using: &random) == 0
      // After it was due even for a worker whose clock is behind, else it would not ring at all.
      let rung = due + Int64(reminderClockBackMax + 1) * 1_000_000
      let at = change < due ? change + (isLate ? spread(3000...3000) : 0) : max(change, rung)
      pending.append((at, event(payload, at: change, "change")))
    }
    return event(set, at: now)
  }

  /// A reminder that rings every day or week, and may have begun days ago.
  private mutating func repeating(_ due: Int64) -> Payload {
    let (rule, days): (String, Int64) =
      Bool.random(using: &random) ? ("FREQ=DAILY", 1) : ("FREQ=WEEKLY", 7)
    let first = due - Int64.random(in: 0...3, using: &random) * days * 86_400_000_000
    let zone = ["UTC", "Asia/Seoul"].randomElement(using: &random) ?? ""
    return reminder("repeating-\(made)", at: first, zone: zone, rule)
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

  /// A moment within two minutes of a day.
  private mutating func cycle(_ due: Int64) -> Payload {
    let (user, id) = (person(), "cycle-\(made)")
    return .reminderCycleSet(
      .with {
        ($0.user, $0.cycle, $0.zone, $0.times) = (user, id, "UTC", 1)
        $0.items = [ReminderItem("a", title: "the a"), ReminderItem("b", title: "the b")]
        ($0.from, $0.to) = (minute(due), minute(due + 120_000_000))
      })
  }

  private mutating func digest(_ due: Int64) -> Payload {
    let user = person()
    return .digestSet(.with { ($0.user, $0.at, $0.zone) = (user, minute(due), "UTC") })
  }

  private func minute(_ time: Int64) -> String { String(text(time).dropFirst(11).prefix(5)) }

  private func event(_ payload: Payload, at time: Int64, _ name: String = "reminder") -> Event {
    Event(
      id: "\(name)-\(made)", source: "magpie/campaign", time: EventTime(microseconds: time),
      payload: payload)
  }

  /// The time in microseconds that passes on the clock during these milliseconds.
  private mutating func spread(_ milliseconds: ClosedRange<Int64>) -> Int64 {
    Int64(Double(Int64.random(in: milliseconds, using: &random)) * clock.rate * 1000)
  }

  private mutating func person() -> String {
    "\(Self.people)\(Int.random(in: 0..<8, using: &random))"
  }

  private mutating func zone() -> String {
    ["Asia/Seoul", "Asia/Kolkata", "America/New_York", ""].randomElement(using: &random) ?? ""
  }
}

/// Whole seconds, such as `2026-11-23T07:00:00`.
private func text(_ time: Int64) -> String {
  String(EventTime(microseconds: time - time % 1_000_000).rfc3339.dropLast())
}
