public import Dispatch
import Foundation

extension DispatchGroup {
  /// Runs `body` on a thread of its own, as a member of the group.
  ///
  /// A global queue starts no further block while the threads of others keep all processors busy, so
  /// blocks that run until another one has acted would wait for ever.
  public func runOnOwnThread(_ body: @escaping @Sendable () -> Void) {
    enter()
    Thread.detachNewThread {
      body()
      self.leave()
    }
  }
}
