import Dispatch
import Gateway
import Synchronization

/// Runs what blocks, one after the other, on a queue of its own. Thread-safe.
final class SingleFile: Sendable {
  private let waitingMax: Int
  private let count = Mutex(0)
  /// How long work may wait in the queue: half of the pages' timeout, so that nothing starts after
  /// the operator has given up.
  private static let waiting = Duration.seconds(60)
  private let queue = DispatchQueue(label: "magpie.operate.changes")

  /// - Parameter waitingMax: the maximum number that run or wait.
  init(waitingMax: Int) { self.waitingMax = waitingMax }

  /// - Throws: ``Problem`` if too many wait or if the wait is too long; otherwise the error of
  ///   `body`.
  func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    let isFree = count.withLock { count in
      guard count < waitingMax else { return false }
      count += 1
      return true
    }
    guard isFree else { throw Problem(.overloaded, "Too many changes are waiting.") }
    let deadline = ContinuousClock.now + Self.waiting
    return try await withCheckedThrowingContinuation { continuation in
      queue.async { [self] in
        let result = Result {
          guard .now < deadline else {
            throw Problem(.overloaded, "Another change took too long; nothing was done.")
          }
          return try body()
        }
        count.withLock { $0 -= 1 }
        continuation.resume(with: result)
      }
    }
  }
}
