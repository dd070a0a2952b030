import Dispatch
import Handling
import Synchronization
import TestSupport

/// Threads with a connection each to one database, until one fails or the test is over.
final class FeedThreads: Sendable {
  let failures = Mutex<[String]>([])
  private let ended = Atomic(false)
  private let url: String
  private let handler: Handler

  init(_ database: FeedDatabase) { (url, handler) = (database.url, database.handler) }

  var isOver: Bool { ended.load(ordering: .relaxed) }

  func end() { ended.store(true, ordering: .relaxed) }

  /// Runs `body` on a thread of its own, as a member of the group.
  func start(_ group: DispatchGroup, _ body: @escaping @Sendable (FeedDatabase) throws -> Void) {
    group.runOnOwnThread { [self] in
      do {
        try body(FeedDatabase(url: url, handler: handler))
      } catch {
        failures.withLock { $0.append("\(error)") }
        end()
      }
    }
  }
}
