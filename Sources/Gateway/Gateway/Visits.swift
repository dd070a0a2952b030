import Dispatch
import Lanes
import Logging
import Postgres
import Synchronization

/// Records visits with `feed_touch`, so that fanout-worker keeps the visitors' feeds, and stores
/// evicted feeds again when their owners come back. Thread-safe.
///
/// Requests never wait for it. A visit that cannot be recorded is recorded with a later request.
final class Visits: Sendable {
  private struct State {
    /// The people whose visit in the hour that ends at `end` is recorded or queued.
    var people: Set<[UInt8]> = []
    var end = ContinuousClock.now
    var waiting: [String] = []
    /// Those of `people` whose next visit counts again from `unstoredEnd` on: either no event has
    /// named them yet, or their feed is about to be stored.
    var unstored: Set<[UInt8]> = []
    var unstoredEnd = ContinuousClock.now
  }

  private let databaseURL: String
  private let state = Mutex(State())
  private let arrivals = DispatchSemaphore(value: 0)

  /// - Parameter databaseURL: must be that of the primary server.
  init(databaseURL: String) { self.databaseURL = databaseURL }

  /// Queues a visit, at most once an hour for each person.
  func note(_ person: String) {
    let isNew = state.withLock { state in
      let now = ContinuousClock.now
      // `feed_touch` itself writes at most once an hour.
      if now >= state.end { (state.people, state.end) = ([], now + .seconds(3600)) }
      if now >= state.unstoredEnd {
        state.people.subtract(state.unstored)
        state.unstored = []
        state.unstoredEnd = now + .seconds(GatewayLimits.visitsRetrySeconds)
      }
      guard state.people.count < GatewayLimits.visitors,
        state.people.insert(Array(person.utf8)).inserted
      else { return false }
      state.waiting.append(person)
      return true
    }
    if isNew { arrivals.signal() }
  }

  /// Records visits on the calling thread, until `status` says `isStopping`.
  func serve(_ status: LaneStatus, _ logger: Logger) {
    var connection: Connection?
    // Always ready: screens are served whether or not visits are recorded.
    status.isReady = true
    while !status.isStopping {
      status.beat()
      // The timeout lets the loop send its heartbeat.
      guard arrivals.wait(timeout: .now() + 1) == .success,
        let person = state.withLock({ $0.waiting.popLast() })
      else { continue }
      do {
        let open = try connection ?? open()
        connection = open
        let isStored = try open.query("SELECT feed_touch($1)", [.text(person)]).only.bool(0)
        if !isStored { state.withLock { _ = $0.unstored.insert(Array(person.utf8)) } }
      } catch {
        connection?.close()
        connection = nil
        forget()
        logger.warning(
          "visits are not recorded; feeds that fanout-worker evicted stay slower",
          metadata: [
            "error": "\(error)",
            "next":
              "give --visits-database-url the primary server and a login that may call feed_touch",
          ])
        status.wait(milliseconds: 1000 * GatewayLimits.visitsRetrySeconds)
      }
    }
    connection?.close()
  }

  /// Forgets all people, so that their next visits are queued again.
  private func forget() {
    state.withLock { ($0.people, $0.waiting) = ([], []) }
  }

  private func open() throws -> Connection {
    try Connection(
      databaseURL, applicationName: "magpie_gateway_visits",
      connectTimeoutSeconds: GatewayLimits.connectSeconds,
      statementTimeoutSeconds: GatewayLimits.statementSeconds)
  }
}
