import Events

/// The events of one fact in a batch: the newest event, which decides, and the time of the earliest
/// creating event, which a withdrawal does not undo.
struct Register {
  var newest: Event
  var firstAt: EventTime?
  /// The UTC days (since 1970) of all creating events. A failed attempt with only some of these
  /// events may already have published any of them.
  var createdOn: [Int64] = []

  init(_ event: Event, creates: Bool) {
    newest = event
    if creates { created(at: event.time) }
  }

  mutating func add(_ event: Event, creates: Bool) {
    if newest.version < event.version { newest = event }
    if creates { created(at: event.time) }
  }

  private mutating func created(at time: EventTime) {
    firstAt = firstAt.map { min($0, time) } ?? time
    let day = time.microseconds / microsecondsInDay
    if !createdOn.contains(day) { createdOn.append(day) }
  }
}

let microsecondsInDay: Int64 = 86_400_000_000

/// The registers of a batch, one for each key.
struct Registers<Key: Hashable> {
  private(set) var keys: [Key] = []
  private(set) var values: [Register] = []
  private var positions: [Key: Int] = [:]

  /// - Parameter creates: whether the event creates the fact rather than withdrawing it.
  mutating func add(_ event: Event, key: Key, creates: Bool) {
    if let position = positions[key] {
      values[position].add(event, creates: creates)
    } else {
      positions[key] = keys.count
      keys.append(key)
      values.append(Register(event, creates: creates))
    }
  }
}

/// Up to three ids as one key, compared byte by byte.
struct Key: Hashable {
  var first: BytewiseString
  var second: BytewiseString
  var third: BytewiseString

  init(_ first: String, _ second: String = "", _ third: String = "") {
    self.first = BytewiseString(first)
    self.second = BytewiseString(second)
    self.third = BytewiseString(third)
  }
}

/// Each of the ids once, bytewise.
func distinct(_ ids: some Sequence<String>) -> [String] {
  var seen = Set<BytewiseString>()
  return ids.filter { seen.insert(BytewiseString($0)).inserted }
}
