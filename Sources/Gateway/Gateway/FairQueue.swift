/// What people wait for: each person's in order of arrival, and one of each person in turn. So one person's
/// many requests do not delay everybody else's.
struct FairQueue<Element> {
  private var waiting: [String: [Element]] = [:]
  /// Those for whom something waits; whose turn is next comes first.
  private var order: [String] = []
  private(set) var count = 0

  mutating func append(_ element: Element, of person: String) {
    if waiting[person] == nil { order.append(person) }
    waiting[person, default: []].append(element)
    count += 1
  }

  /// Removes the first element of the first person whose turn it is and whom `isNext` admits.
  mutating func popFirst(
    where isNext: (_ person: String) -> Bool = { _ in true }
  ) -> (person: String, element: Element)? {
    guard let index = order.firstIndex(where: isNext) else { return nil }
    let person = order.remove(at: index)
    guard let element = waiting[person]?.removeFirst() else { return nil }
    if waiting[person]?.isEmpty == true { waiting[person] = nil } else { order.append(person) }
    count -= 1
    return (person, element)
  }

  /// How many elements of the person wait.
  func count(of person: String) -> Int { waiting[person]?.count ?? 0 }

  mutating func removeAll() -> [Element] {
    defer { self = Self() }
    return waiting.values.flatMap(\.self)
  }
}

extension FairQueue: Sendable where Element: Sendable {}
