import Events

/// What people wait for: each person's in order of arrival, one of each person in turn, and only so many
/// of a person's running at a time. So one person's many requests do not delay everybody else's.
struct FairQueue<Element> {
  private let runningMax: Int
  private var waiting: [BytewiseString: [Element]] = [:]
  /// Those for whom something waits; whose turn is next comes first.
  private var order: [BytewiseString] = []
  /// How many of each person's are running.
  private var running: [BytewiseString: Int] = [:]
  /// How many wait.
  private(set) var count = 0

  /// - Parameter runningMax: how many of one person may run at a time; of "", who is nobody, any number.
  init(runningMax: Int) { self.runningMax = runningMax }

  mutating func append(_ element: Element, of person: String) {
    let person = BytewiseString(person)
    if waiting[person] == nil { order.append(person) }
    waiting[person, default: []].append(element)
    count += 1
  }

  /// Starts the first element of the first person whose turn it is and of whom one more may run.
  mutating func start() -> (person: String, element: Element)? {
    let next = order.firstIndex { $0.string.isEmpty || running[$0, default: 0] < runningMax }
    guard let index = next else { return nil }
    let person = order.remove(at: index)
    guard let element = waiting[person]?.removeFirst() else { return nil }
    if waiting[person]?.isEmpty == true { waiting[person] = nil } else { order.append(person) }
    count -= 1
    running[person, default: 0] += 1
    return (person.string, element)
  }

  /// Ends one that was started.
  ///
  /// - Returns: whether more of the person wait than could have been started before.
  @discardableResult
  mutating func end(of person: String) -> Bool {
    let key = BytewiseString(person)
    let count = running[key, default: 1]
    running[key] = count == 1 ? nil : count - 1
    return !person.isEmpty && self.count(of: person) > runningMax - count
  }

  /// How many elements of the person wait.
  func count(of person: String) -> Int { waiting[BytewiseString(person)]?.count ?? 0 }

  /// Removes the newest of whoever has most waiting, if that is more than one; nothing of "", who is nobody.
  mutating func removeNewestOfMost() -> Element? {
    let people = waiting.filter { !$0.key.string.isEmpty }
    guard let most = people.max(by: { $0.value.count < $1.value.count }), most.value.count > 1
    else { return nil }
    count -= 1
    return waiting[most.key]?.removeLast()
  }

  /// Removes all that wait.
  mutating func removeAll() -> [Element] {
    defer { (waiting, order, count) = ([:], [], 0) }
    return waiting.values.flatMap(\.self)
  }
}

extension FairQueue: Sendable where Element: Sendable {}
