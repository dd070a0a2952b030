/// A condition did not come true in time.
public struct TimedOut: Error, CustomStringConvertible {
  /// What was waited for, and how long.
  public let description: String
}

/// Waits until `condition` is true, asking every 20 ms, and ten times at least: beside tests that
/// block, a task may wait longer for a thread than the limit.
///
/// - Throws: `TimedOut`, or what `condition` throws.
public func eventually(
  within limit: Duration = .seconds(20), _ what: String = "the condition",
  isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  var asked = 0
  while true {
    if try await condition() { return }
    asked += 1
    guard ContinuousClock.now < deadline || asked < 10 else {
      throw TimedOut(description: "\(what) did not come true within \(limit)")
    }
    try await Task.sleep(for: .milliseconds(20))
  }
}
