import Handling
import Postgres
import Synchronization

/// The floor of every feed whose own is lower: what is older has been dropped, or soon will be.
let feedHistoryFloor = "(SELECT h.floor FROM feed_history h)"
/// SQL: no post that is older is above that floor. A key deviates by up to 2^20 from that of its time.
let feedHistoryStart = "(SELECT feeds_key_time(h.floor - 1048576) FROM feed_history h)"

/// When a worker looks next whether partitions of `feed_entries` are to be made or dropped. Safe to use from any thread.
final class FeedPartitions: Sendable {
  private static let interval: Duration = .seconds(60)

  private let next = Mutex(ContinuousClock.now)

  /// Whether it is time; the next time is a minute later.
  func areDue() -> Bool {
    next.withLock { next in
      guard ContinuousClock.now >= next else { return false }
      next = .now + Self.interval
      return true
    }
  }

  /// Makes partitions ahead of time, and drops those whose posts are older than feeds are stored: see migration 0039.
  /// Alone in its transaction, because it keeps everybody else out of `feed_entries`.
  static func keep(historyDays: Int) -> Work {
    Work([
      Statement(
        "SELECT feeds_keep_partitions($1::bigint * interval '1 day', now())",
        [.int8(Int64(historyDays))])
    ]) { _ in Outcome(hasMore: true) }
  }
}
