import Foundation
import Synchronization

/// Runs on a thread of its own, as a lane does, so that waiting for a lock holds up nobody else.
final class Lane: Sendable {
  private let result = Mutex<Result<Void, any Error>?>(nil)
  private let finished = DispatchSemaphore(value: 0)

  init(_ body: @escaping @Sendable () throws -> Void) {
    Thread.detachNewThread {
      let outcome = Result { try body() }
      self.result.withLock { $0 = outcome }
      self.finished.signal()
    }
  }

  /// Waits for the end, once; throws what the body threw.
  func join() throws {
    finished.wait()
    try result.withLock { $0 }?.get()
  }
}
