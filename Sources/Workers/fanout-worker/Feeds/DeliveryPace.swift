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

  /// The size of a transaction for which one piece of the backlog keeps up.
  private static let usual = 100_000

  private struct State {
    var deliveriesMax = DeliveryPace.usual
    var lastDeliveries = 0
  }

  private let state = Mutex(State())

  /// The maximum number of deliveries in one transaction, give or take one post's.
  var deliveriesMax: Int { state.withLock { $0.deliveriesMax } }
  /// By how much the backlog's next piece has to be larger than usual, to keep up with the last transaction.
  var backlogShare: Int { max(1, state.withLock { $0.lastDeliveries } / Self.usual) }

  private func note(_ deliveries: Int, since started: ContinuousClock.Instant) {
    let duration = max(ContinuousClock.now - started, .microseconds(1))
    let most = Int(min(Double(deliveries) * (Self.transaction / duration), 1e9))
    state.withLock { $0.deliveriesMax = max(Self.fewest, most) }
  }

  /// A COPY of deliveries that is being measured, from its creation on.
  struct Writing {
    var pace: DeliveryPace
    var deliveries: Int
    /// The number of events that deliver them. A single one is never too large.
    var events: Int
    var started = ContinuousClock.now

    /// Notes how many deliveries have been sent to the server, which is some thousands ahead of what it has written.
    ///
    /// - Throws: `BatchTooLarge` if they should rather be written in smaller transactions.
    func check(sent: Int) throws {
      guard events > 1, sent < deliveries / 2, ContinuousClock.now - started > DeliveryPace.patience
      else { return }
      pace.note(sent, since: started)
      throw BatchTooLarge(halving: events)
    }

    /// Notes the pace of all deliveries.
    func end() {
      pace.state.withLock { $0.lastDeliveries = deliveries }
      if deliveries >= DeliveryPace.fewest { pace.note(deliveries, since: started) }
    }
  }
}
