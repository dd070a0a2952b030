import Events
import Kinds
import Schedules

/// A change to a reminder, a cycle or a digest, decoded from an event.
struct Change: Sendable {
  var user: String
  /// A reminder's or a cycle's id; empty for the digest.
  var reminder: String
  var version: Version
  /// The partition of the record.
  var partition: Int32
  /// Nil if the reminder is cancelled or the digest is switched off.
  var definition: Definition?

  /// Nil if the event is not one of the topic `reminders`.
  ///
  /// - Throws: `EventError` for a kind that the registry does not have, or that a reminder cannot
  ///   raise.
  init?(_ event: Event, kinds: AlarmKinds) throws(EventError) {
    version = event.version
    partition = event.partition ?? 0
    switch event.payload {
    case .reminderSet(let data):
      (user, reminder) = (data.user, data.reminder)
      definition = try Definition(data, kinds: kinds)
    case .reminderCycleSet(let data):
      (user, reminder) = (data.user, data.cycle)
      definition = try Definition(data, kinds: kinds)
    case .reminderCancelled(let data):
      (user, reminder) = (data.user, data.reminder)
    case .digestSet(let data):
      (user, reminder) = (data.user, "")
      if !data.at.isEmpty { definition = try Definition(data, kinds: kinds) }
    default: return nil
    }
  }
}

extension Definition {
  fileprivate init(_ data: ReminderSet, kinds: AlarmKinds) throws(EventError) {
    form = .reminder
    items = [
      Item(title: data.title, memo: data.memo, symbol: data.symbol, link: data.link)
    ]
    kind = try ringable(data.kind, items, kinds)
    if data.instant.isEmpty {
      (at, zone) = (data.at, data.zone)
    } else {
      // Store an instant as a local time in UTC. Seconds are precise enough for a reminder.
      // Rounding up keeps an instant that is later than the event's time later than it.
      let instant = try EventTime(rfc3339: data.instant)
      let seconds = -(-instant.microseconds).quotient(1_000_000)
      (at, zone) = (LocalTime(seconds: seconds).description, "UTC")
    }
    repeats = data.repeat.isEmpty ? nil : data.repeat
  }

  fileprivate init(_ data: ReminderCycleSet, kinds: AlarmKinds) throws(EventError) {
    form = .cycle
    items = data.items.map {
      Item(id: $0.item, title: $0.title, memo: $0.memo, symbol: $0.symbol, link: $0.link)
    }
    kind = try ringable(data.kind, items, kinds)
    zone = data.zone
    window = Window(
      from: secondsOfDay(data.from), to: secondsOfDay(data.to), times: Int(data.times),
      isWeekly: data.period == "week")
  }

  fileprivate init(_ data: DigestSet, kinds: AlarmKinds) throws(EventError) {
    form = .digest
    kind = digestKind
    (at, zone) = (data.at, data.zone)
    repeats =
      data.days.isEmpty
      ? "FREQ=DAILY"
      : "FREQ=WEEKLY;BYDAY=\(data.days.map { $0.uppercased() }.joined(separator: ","))"
    days = data.days
    holds = data.holds
    var numbers: [Int16] = []
    for name in data.kinds {
      guard let kind = kinds.kind(name) else { throw unknown(name, field: "kinds") }
      numbers.append(Int16(kind.code.number))
    }
    self.kinds = numbers
  }
}

/// The kind of a reminder's alarm if the event names none.
private let reminderKind = "reminder"
/// The kind of a digest's alarm.
let digestKind = "F43"

/// Checks that a kind can be raised without an actor and with these items, and returns its code.
private func ringable(_ name: String, _ items: [Definition.Item], _ kinds: AlarmKinds)
  throws(EventError) -> String
{
  let name = name.isEmpty ? reminderKind : name
  guard let kind = kinds.kind(name) else { throw unknown(name, field: "kind") }
  guard kind.actor != .required else {
    throw EventError(
      .badValue, "the kind \(kind.name) needs an actor; a reminder has none.", field: "kind")
  }
  for item in items {
    do throws(KindError) {
      _ = try kind.checked(item.arguments(dueAt: "2000-01-01 00:00"))
    } catch {
      throw EventError(.badValue, "\(kind.name): \(error.message).", field: error.field)
    }
  }
  return kind.code.description
}

private func unknown(_ name: String, field: String) -> EventError {
  EventError(
    .badValue,
    "the registry has no kind \(name); add it to kinds.json in --catalog-dir, then redrive.",
    field: field)
}

extension Definition.Item {
  /// The arguments of the alarm.
  ///
  /// - Parameter dueAt: the local time at which the occurrence was due; nil if it rings on time.
  func arguments(dueAt: String?) -> [String: String] {
    ["text": title, "due": dueAt ?? "", "symbol": symbol, "link": link].filter { !$0.value.isEmpty }
  }
}
