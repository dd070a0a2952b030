import Foundation

/// How long a test waits for a state before the wait is taken to hang, in seconds. It measures
/// nothing, so it is far longer than the busiest machine needs; tests set no limits of their own.
public let hangLimitSeconds = 900.0

/// The same for options of the tool, such as `verify --wait`.
public let hangLimitText = "\(Int(hangLimitSeconds))"

/// A condition did not come true in time.
public struct TimedOut: Error, CustomStringConvertible {
  /// What was waited for, and how long.
  public let description: String

  init(_ what: String, _ limit: Duration) {
    description = "\(what) did not come true within \(limit)"
  }
}

/// Waits until `condition` is true, asking every 20 ms, and ten times at least: beside tests that
/// block, a task may wait longer for a thread than the limit.
///
/// - Throws: `TimedOut`, or what `condition` throws.
public func eventually(
  within limit: Duration = .seconds(hangLimitSeconds), _ what: String = "the condition",
  isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  var asked = 0
  while true {
    if try await condition() { return }
    asked += 1
    guard ContinuousClock.now < deadline || asked < 10 else { throw TimedOut(what, limit) }
    try await Task.sleep(for: .milliseconds(20))
  }
}

/// Blocks the thread until `condition` is true, asking again and again, with a pause of 5 ms in
/// between unless `condition` takes its own time, as a poll does.
///
/// - Throws: `TimedOut`, or what `condition` throws.
public func block(
  until what: String, pauses: Bool = true, _ condition: () throws -> Bool
) throws {
  let limit = Duration.seconds(hangLimitSeconds)
  let deadline = ContinuousClock.now + limit
  while try !condition() {
    guard ContinuousClock.now < deadline else { throw TimedOut(what, limit) }
    if pauses { Thread.sleep(forTimeInterval: 0.005) }
  }
}
