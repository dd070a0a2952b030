/// The most recently added elements, to pick a random one from.
struct Recent<Element: Sendable>: Sendable {
  private let capacity: Int
  private var elements: [Element] = []
  private var oldest = 0

  init(capacity: Int) { self.capacity = capacity }

  mutating func add(_ element: Element) {
    if elements.count < capacity {
      elements.append(element)
    } else {
      elements[oldest] = element
      oldest = (oldest + 1) % capacity
    }
  }

  func pick(_ random: inout SplitMix64) -> Element? {
    elements.randomElement(using: &random)
  }
}
