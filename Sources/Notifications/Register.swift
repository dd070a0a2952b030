import Events

/// What a batch says about one fact: its newest event, which decides, and when the earliest of the
/// creating ones happened, which a withdrawal does not undo.
struct Register {
  var newest: Event
  var firstAt: EventTime?
}

/// The registers of a batch, one for each key.
struct Registers<Key: Hashable> {
  private(set) var keys: [Key] = []
  private(set) var values: [Register] = []
  private var positions: [Key: Int] = [:]

  /// - Parameter creates: whether the event makes the fact (rather than withdrawing it).
  mutating func add(_ event: Event, key: Key, creates: Bool) {
    if let position = positions[key] {
      if values[position].newest.version < event.version { values[position].newest = event }
      if creates { values[position].firstAt = earlier(values[position].firstAt, event.time) }
    } else {
      positions[key] = keys.count
      keys.append(key)
      values.append(Register(newest: event, firstAt: creates ? event.time : nil))
    }
  }
}

func earlier(_ a: EventTime?, _ b: EventTime) -> EventTime {
  a.map { min($0, b) } ?? b
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
