/// A condition did not come true in time.
public struct TimedOut: Error, CustomStringConvertible {
  /// What was waited for, and how long.
  public let description: String
}

/// Waits until `condition` is true, asking every 20 ms.
///
/// - Throws: `TimedOut`, or what `condition` throws.
public func eventually(
  within limit: Duration = .seconds(20), _ what: String = "the condition",
  isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  while true {
    if try await condition() { return }
    guard ContinuousClock.now < deadline else {
      throw TimedOut(description: "\(what) did not come true within \(limit)")
    }
    try await Task.sleep(for: .milliseconds(20))
  }
}
