import Handling
import Synchronization

/// How many deliveries PostgreSQL writes in half a second, from how long the last ones took.
///
/// One takes from 1 µs to 140: more in a large table, and most right after a checkpoint (see "Scale" in
/// docs/performance.md). So a transaction that is bounded in deliveries alone could lock its authors for many
/// seconds. Shared by the lanes of a worker, and safe to use from any thread.
final class DeliveryPace: Sendable {
  private static let transaction: Duration = .milliseconds(500)
  /// A COPY that has taken this long and is not half done is abandoned.
  private static let patience: Duration = .seconds(1)
  /// Fewer deliveries say little about many, and their transaction is short in any case.
  private static let fewest = 1_000

  private let latest = Mutex(100_000)

  /// The maximum number of deliveries in one transaction, give or take one post's.
  var deliveriesMax: Int { latest.withLock { $0 } }

  private func note(_ deliveries: Int, since started: ContinuousClock.Instant) {
    let duration = max(ContinuousClock.now - started, .microseconds(1))
    let most = Double(deliveries) * (Self.transaction / duration)
    latest.withLock { $0 = max(Self.fewest, Int(min(most, 1e9))) }
  }

  /// A COPY of deliveries that is being measured, from its creation on.
  struct Writing {
    let pace: DeliveryPace
    let deliveries: Int
    /// The number of events that deliver them. A single one is never too large.
    let events: Int
    private let started = ContinuousClock.now

    init(of deliveries: Int, by events: Int, at pace: DeliveryPace) {
      self.pace = pace
      self.deliveries = deliveries
      self.events = events
    }

    /// Notes how many deliveries have been sent to the server, which is some thousands ahead of what it has written.
    ///
    /// - Throws: `BatchTooLarge` if they should rather be written in smaller transactions.
    func check(sent: Int) throws {
      guard events > 1, sent < deliveries / 2, ContinuousClock.now - started > DeliveryPace.patience
      else { return }
      pace.note(sent, since: started)
      throw BatchTooLarge(sizes: [events / 2, events - events / 2])
    }

    /// Notes the pace of all deliveries.
    func end() {
      if deliveries >= DeliveryPace.fewest { pace.note(deliveries, since: started) }
    }
  }
}
