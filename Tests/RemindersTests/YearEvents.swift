import Events
import Foundation
import Schedules
import TestSupport

/// What people set, change and cancel in a year, and when the worker gets to know it.
struct YearEvents {
  struct Delivery {
    var event: Event
    /// Microseconds since 1970; not before the event's time.
    var arrives: Int64
  }

  static let zones = """
    UTC Asia/Tokyo Asia/Seoul Asia/Kolkata Asia/Kathmandu Asia/Tehran Asia/Gaza Asia/Jerusalem
    Asia/Manila Asia/Almaty Asia/Damascus Africa/Cairo Africa/Casablanca Africa/Lagos
    America/New_York America/Los_Angeles America/St_Johns America/Sao_Paulo America/Havana
    America/Asuncion America/Nuuk America/Mexico_City America/Santiago America/Caracas
    Antarctica/Troll Atlantic/Azores Australia/Sydney Australia/Lord_Howe Europe/Berlin
    Europe/London Europe/Dublin Europe/Moscow Europe/Istanbul Pacific/Apia Pacific/Chatham
    Pacific/Easter Pacific/Fiji Pacific/Kiritimati Pacific/Pago_Pago Pacific/Honolulu
    """.split(whereSeparator: \.isWhitespace).map(String.init)

  static let second: Int64 = 1_000_000
  static let hour = 3600 * second
  static let day = 24 * hour

  private(set) var deliveries: [Delivery] = []
  private var numbers: SeededGenerator
  private let directory = ZoneDirectory()
  private let start: Int64
  private let days: Int
  private var end: Int64 { start + Int64(days) * Self.day }

  /// - Parameter start: microseconds since 1970.
  init(people: Int, start: Int64, days: Int = 366, seed: UInt64) {
    numbers = SeededGenerator(seed: seed)
    (self.start, self.days) = (start, days)
    for number in 0..<people { addPerson("p\(number)") }
    deliveries.sort { ($0.arrives, $0.event.id) < ($1.arrives, $1.event.id) }
  }

  private mutating func addPerson(_ user: String) {
    if chance(90) {
      add(.profileChanged(.with { ($0.user, $0.zone) = (user, zone()) }), at: time(start, 2))
    }
    for _ in 0..<number(0...3) {
      let zone = chance(5) ? "" : zone()
      let payload: Payload =
        chance(50)
        ? .profileChanged(.with { ($0.user, $0.zone) = (user, zone) })
        : .profileEdited(ProfileEdited(user: user, zone: zone))
      let changed = time(start, days)
      add(payload, at: changed)
      // And at once to another one.
      if chance(20) {
        add(.zone(self.zone(), of: user), at: changed + Int64(number(0...7200)) * Self.second)
      }
    }
    // Within hours of a change of the zone, where there is one.
    let changes = deliveries.reversed().prefix { $0.event.key == user }.map(\.event)
    for index in 0..<number(2...4) {
      let near = chance(40) ? changes.randomElement(using: &numbers) : nil
      let first = near.map {
        $0.time.microseconds + Int64(number(-43_200...43_200)) * Self.second
      }
      addReminder(
        "r\(index)", of: user, at: max(start, first ?? time(start, chance(50) ? days / 10 : days)),
        zones: changes)
    }
  }

  private mutating func addReminder(
    _ id: String, of user: String, at first: Int64, zones changes: [Event]
  ) {
    var (time, reminder) = (first, reminder(id, of: user, at: first))
    add(.reminderSet(reminder), at: time)
    for version in 0..<number(0...5) {
      // Seconds later, hours later or some day.
      let later = [Int64(number(0...600)) * Self.second, Int64(number(0...50_000)) * Self.second]
      let due = due(reminder, changes, time) + Int64(number(-2400...300)) * Self.second
      // Or about when it is due, and the worker gets to know it after it rang.
      let isNear = due > time && chance(50)
      if isNear {
        time = due
      } else {
        time += chance(50) ? later[number(0...1)] : Int64(number(0...120)) * Self.day / 2
      }
      guard time < end else { return }
      let late = isNear ? Int64(number(0...7200)) * Self.second : 0
      switch number(0...5) {
      case 0:
        add(.cancellation(id, of: user), at: time, late: late)
        continue
      case 1: reminder = self.reminder(id, of: user, at: time)
      case 2: reminder.title = "title \(version)"
      case 3 where reminder.instant.isEmpty: reminder.zone = chance(50) ? zone() : ""
      case 4 where reminder.instant.isEmpty:
        let moved =
          ((try? LocalTime(reminder.at)) ?? .earliest).seconds + Int64(number(-36...36)) * 1800
        reminder.at = LocalTime(seconds: moved).description
      default: break  // An edit that changes nothing, or sets a cancelled one again.
      }
      add(.reminderSet(reminder), at: time, late: late)
    }
  }

  /// About when one of the first occurrences is due.
  private mutating func due(_ reminder: ReminderSet, _ changes: [Event], _ now: Int64) -> Int64 {
    if let instant = try? EventTime(rfc3339: reminder.instant) { return instant.microseconds }
    var zone = reminder.zone
    if zone.isEmpty {
      switch changes.filter({ $0.time.microseconds <= now }).max(by: { $0.time < $1.time })?.payload
      {
      case .profileChanged(let data): zone = data.zone
      case .profileEdited(let data): zone = data.zone
      default: break
      }
    }
    var local = (try? LocalTime(reminder.at)) ?? .earliest
    if !reminder.repeat.isEmpty { local.seconds += Int64(number(0...14)) * 86_400 }
    return ((try? directory.zone(zone.isEmpty ? "UTC" : zone))?.instant(of: local) ?? 0)
      * Self.second
  }

  private mutating func reminder(_ id: String, of user: String, at time: Int64) -> ReminderSet {
    var reminder = ReminderSet.with { ($0.user, $0.reminder, $0.title) = (user, id, "title") }
    // Half of them within what zones differ by.
    let hours = chance(50) ? number(-16...30) : number(0...1000)
    let seconds = (time / Self.second / 3600 + Int64(hours)) * 3600 + Int64(number(0...3) * 900)
    var local = LocalTime(seconds: seconds)
    if chance(10) {
      reminder.instant = EventTime(microseconds: seconds * Self.second + 900_000).rfc3339
      return reminder
    }
    // When clocks change.
    if chance(30) { local = LocalTime(day: local.day, secondsOfDay: number(0...13) * 900) }
    reminder.at = local.description
    if chance(40) { reminder.zone = zone() }
    if chance(35) { reminder.repeat = rule(from: local) }
    return reminder
  }

  private mutating func rule(from start: LocalTime) -> String {
    var parts: [String]
    switch number(0...2) {
    case 0: parts = ["FREQ=DAILY"]
    case 1:
      parts = ["FREQ=WEEKLY"]
      if chance(60) {
        parts.append(["BYDAY=MO,FR", "BYDAY=SU", "BYDAY=TU,WE,TH,SA"][number(0...2)])
      }
    default:
      parts = ["FREQ=MONTHLY"]
      if chance(60) {
        parts.append(["BYMONTHDAY=1,15", "BYMONTHDAY=-1", "BYMONTHDAY=31"][number(0...2)])
      }
    }
    if chance(60) { parts.append("INTERVAL=\(number(1...4))") }
    let last = LocalTime(day: start.day + number(0...90), secondsOfDay: number(0...86_399))
    let end = String(last.description.filter { $0 != "-" && $0 != ":" })
    switch number(0...19) {
    case 0: break
    case 1...2: parts.append("UNTIL=\(end.prefix(8))")
    case 3...4: parts.append("UNTIL=\(end)")
    case 5...6: parts.append("UNTIL=\(end)Z")
    default: parts.append("COUNT=\(number(1...15))")
    }
    return parts.joined(separator: ";")
  }

  private mutating func add(_ payload: Payload, at time: Int64, late: Int64 = 0) {
    guard time < end else { return }
    // Some arrive late, and so after newer ones.
    var arrives = time + late
    if chance(20) { arrives += Int64(number(0...1800)) * Self.second }
    if chance(4) { arrives += Int64(number(0...21_600)) * Self.second }
    let id = "\(number(0...9))-\(deliveries.count)"
    deliveries.append(
      Delivery(
        event: Event(id: id, source: "test", time: EventTime(microseconds: time), payload: payload),
        arrives: arrives))
  }

  /// A second of the days from `start` on.
  private mutating func time(_ start: Int64, _ days: Int) -> Int64 {
    start + Int64(number(0...days * 86_400 - 1)) * Self.second
  }

  private mutating func zone() -> String { Self.zones[number(0...Self.zones.count - 1)] }
  private mutating func chance(_ percent: Int) -> Bool { number(0...99) < percent }
  private mutating func number(_ range: ClosedRange<Int>) -> Int {
    .random(in: range, using: &numbers)
  }
}
