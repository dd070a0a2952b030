import Foundation
import Postgres
import Synchronization

/// Does something again and again on a thread of its own. Thread-safe.
final class Repeated: Sendable {
  private let isStopping = Mutex(false)
  private let ended = DispatchSemaphore(value: 0)

  /// Begins at once. What `body` throws is no reason to stop: the database may be away, which is one
  /// of the faults.
  init(everyMilliseconds interval: Int, _ body: @escaping @Sendable () throws -> Void) {
    Thread.detachNewThread { [self] in
      run(interval) { try? body() }
      ended.signal()
    }
  }

  /// With a connection, which is made anew once `body` has thrown.
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

  /// Waits until it is over.
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
