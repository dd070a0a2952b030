import Synchronization

/// Lets a limited number of tasks run at a time, in order of arrival. Thread-safe.
final class Turns: Sendable {
  private struct State {
    var free: Int
    /// The waiting tasks by number, from `next` up to but not including `end`.
    var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var next: UInt64 = 0
    var end: UInt64 = 0
  }

  private let state: Mutex<State>

  init(_ count: Int) { state = Mutex(State(free: count)) }

  /// Waits for a turn, and runs `body`.
  func run<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
  ) async rethrows -> Value {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.free == 0 else {
          state.free -= 1
          return true
        }
        state.waiting[state.end] = continuation
        state.end += 1
        return false
      }
      if isFree { continuation.resume() }
    }
    defer { pass() }
    return try await body()
  }

  private func pass() {
    let following = state.withLock { state in
      guard let continuation = state.waiting.removeValue(forKey: state.next) else {
        state.free += 1
        return CheckedContinuation<Void, Never>?.none
      }
      state.next += 1
      return continuation
    }
    following?.resume()
  }
}
