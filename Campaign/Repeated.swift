import Foundation
import Postgres
import Synchronization

/// Repeats an action on its own thread. Thread-safe.
final class Repeated: Sendable {
  private let isStopping = Mutex(false)
  private let ended = DispatchSemaphore(value: 0)

  /// Starts immediately. Ignores errors of `body`: the database may be down, which is one of the
  /// faults.
  init(everyMilliseconds interval: Int, _ body: @escaping @Sendable () throws -> Void) {
    Thread.detachNewThread { [self] in
      run(interval) { try? body() }
      ended.signal()
    }
  }

  /// Runs `body` with a connection, which is reopened after an error.
  init(
    everyMilliseconds interval: Int, on url: String, statementTimeoutSeconds: Int,
    _ body: @escaping @Sendable (Connection) throws -> Void
  ) {
    Thread.detachNewThread { [self] in
      var connection: Connection?
      run(interval) {
        do {
          let current =
            try connection
            ?? Connection(
              url, applicationName: "magpie-campaign", connectTimeoutSeconds: 2,
              statementTimeoutSeconds: statementTimeoutSeconds)
          connection = current
          try body(current)
        } catch {
          connection?.close()
          connection = nil
          Thread.sleep(forTimeInterval: 0.1)
        }
      }
      connection?.close()
      ended.signal()
    }
  }

  /// Stops and waits for the thread to end.
  func stop() {
    isStopping.withLock { $0 = true }
    ended.wait()
    ended.signal()
  }

  private func run(_ interval: Int, _ body: () -> Void) {
    while !isStopping.withLock({ $0 }) {
      body()
      let next = ContinuousClock.now + .milliseconds(interval)
      while .now < next, !isStopping.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.01) }
    }
  }
}
