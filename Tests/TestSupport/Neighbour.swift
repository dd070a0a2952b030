import Foundation
import Synchronization

/// Runs a transaction again and again beside something else, to measure what that makes it wait.
public final class Neighbour: Sendable {
  private let isStopping = Mutex(false)
  private let result = Mutex<Result<[Duration], any Error>>(.success([]))
  private let finished = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - minimum: how often it runs at least, also after `stop`.
  ///   - open: returns the transaction, which gets the number of times that it has run. Both run in a thread of their
  ///     own, the transaction a hundred times a second at most.
  public init(
    atLeast minimum: Int, _ open: @escaping @Sendable () throws -> (Int) throws -> Void
  ) {
    Thread.detachNewThread { [self] in
      let outcome = Result {
        var times: [Duration] = []
        let transaction = try open()
        while times.count < minimum || !isStopping.withLock({ $0 }) {
          times.append(try ContinuousClock().measure { try transaction(times.count) })
          Thread.sleep(forTimeInterval: 0.01)
        }
        return times
      }
      result.withLock { $0 = outcome }
      finished.signal()
    }
  }

  /// Stops, and says how long the transactions took.
  public func stop() throws -> String {
    isStopping.withLock { $0 = true }
    finished.wait()
    let times = try result.withLock { try $0.get() }.sorted()
    guard let longest = times.last else { return "no transactions" }
    return "\(times.count) transactions: median \(times[times.count / 2]), "
      + "p99 \(times[times.count * 99 / 100]), longest \(longest)"
  }
}
