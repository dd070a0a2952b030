import Foundation

/// How many seconds a test waits for a state before it counts as hung. It measures nothing, so it
/// is far longer than the busiest machine needs; tests set no limits of their own.
public let hangLimitSeconds = 900.0

/// The same limit as text, for options such as `verify --wait`.
public let hangLimitText = "\(Int(hangLimitSeconds))"

/// A condition did not become true in time.
public struct TimedOut: Error, CustomStringConvertible {
  /// The condition and the time limit.
  public let description: String

  init(_ what: String, _ limit: Duration) {
    description = "\(what) did not become true within \(limit)"
  }
}

/// Waits until `condition` is true. Checks every 20 ms, at least ten times: while other tests block
/// the thread pool, a task may wait for a thread for longer than the limit.
///
/// - Throws: `TimedOut`, or the error of `condition`.
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

/// Blocks the thread until `condition` is true. Pauses 5 ms between checks, unless `condition`
/// itself takes time, as a poll does.
///
/// - Throws: `TimedOut`, or the error of `condition`.
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
