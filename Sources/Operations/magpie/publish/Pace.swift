import ArgumentParser
import Foundation

/// Limits a rate, evenly.
struct Pace {
  /// Nil is unlimited.
  var perSecond: Double?
  private var due = ContinuousClock.now

  init(perSecond: Double?) { self.perSecond = perSecond }

  /// Refuses a `--rate` for which no time can be computed, or which would never end.
  static func validate(_ rate: Double?) throws {
    guard let rate, !(0.001...10_000_000).contains(rate) else { return }
    throw ValidationError("--rate is \(rate), but must be 0.001 to 10000000.")
  }

  /// The size of a batch: about a quarter of a second's worth, at most `limit`.
  func portion(of limit: Int) -> Int {
    guard let perSecond else { return limit }
    return max(1, min(limit, Int(perSecond / 4)))
  }

  /// Waits until the rate allows `count` more.
  mutating func wait(for count: Int) {
    guard let perSecond else { return }
    // Do not catch up after waiting for others.
    due = max(due, .now - .milliseconds(250)) + .seconds(Double(count) / perSecond)
    let early = due - .now
    if early > .zero { Thread.sleep(forTimeInterval: early / .seconds(1)) }
  }
}
