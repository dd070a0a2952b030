import Lanes

/// Counts the transitions that the machines took: state, input, and resulting action.
public struct Coverage: Sendable {
  /// In the order of `Transition.all`.
  public private(set) var counts = [Int](repeating: 0, count: Transition.all.count)
  /// Transitions that are not in `Transition.all`.
  public private(set) var unlisted: [Transition: Int] = [:]

  /// By a transition's number: its index in `Transition.all`, or -1.
  private static let indices: [Int] = {
    var indices = [Int](repeating: -1, count: Transition.numbers)
    for (index, transition) in Transition.all.enumerated() { indices[transition.number] = index }
    return indices
  }()

  public init() {}

  mutating func add(_ other: Coverage) {
    for index in counts.indices { counts[index] += other.counts[index] }
    unlisted.merge(other.unlisted, uniquingKeysWith: +)
  }

  /// Transitions that were never taken.
  public var missing: [Transition] {
    zip(Transition.all, counts).filter { $1 == 0 }.map(\.0)
  }

  mutating func count(_ transition: Transition) {
    let index = Self.indices[transition.number]
    if index >= 0 { counts[index] += 1 } else { unlisted[transition, default: 0] += 1 }
  }
}
