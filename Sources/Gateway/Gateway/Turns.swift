import Synchronization

/// Lets a limited number of tasks run at a time, and one of each person; the people take turns.
/// Thread-safe.
final class Turns: Sendable {
  private struct State {
    var free: Int
    var waiting = FairQueue<CheckedContinuation<Void, Never>>(runningMax: 1)

    mutating func next() -> CheckedContinuation<Void, Never>? {
      guard free > 0, let next = waiting.start() else { return nil }
      free -= 1
      return next.element
    }
  }

  private let state: Mutex<State>

  init(_ count: Int) { state = Mutex(State(free: count)) }

  /// Waits for the person's turn, and runs `body`.
  func run<Value>(
    of person: String, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Value
  ) async rethrows -> Value {
    await withCheckedContinuation { continuation in
      let next = state.withLock { state in
        state.waiting.append(continuation, of: person)
        return state.next()
      }
      next?.resume()
    }
    defer {
      let next = state.withLock { state in
        state.free += 1
        state.waiting.end(of: person)
        return state.next()
      }
      next?.resume()
    }
    return try await body()
  }
}
