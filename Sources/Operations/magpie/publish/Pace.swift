import Foundation

/// At most so many a second, evenly.
struct Pace {
  /// Nil is as fast as it goes.
  var perSecond: Double?
  private var due = ContinuousClock.now

  init(perSecond: Double?) { self.perSecond = perSecond }

  /// How many to do in one go: about a quarter of a second's worth, at most `limit`.
  func portion(of limit: Int) -> Int {
    guard let perSecond else { return limit }
    return max(1, min(limit, Int(perSecond / 4)))
  }

  /// Waits until `count` more may have been done.
  mutating func wait(for count: Int) {
    guard let perSecond else { return }
    // Time that was lost waiting for others is not made up for.
    due = max(due, .now - .milliseconds(250)) + .seconds(Double(count) / perSecond)
    let early = due - .now
    if early > .zero { Thread.sleep(forTimeInterval: early / .seconds(1)) }
  }
}
