import Foundation
import Synchronization

/// Runs a body on its own thread, as a lane does, so that a lock wait blocks nothing else.
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

  /// Waits for the end, once; rethrows the body's error.
  func join() throws {
    finished.wait()
    try result.withLock { $0 }?.get()
  }
}
