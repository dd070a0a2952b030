import Postgres
import Synchronization

/// The state that a lane shares with its process. Thread-safe.
public final class LaneStatus: Sendable {
  private struct State {
    var isStopping = false
    var isReady = false
    var hasEnded = false
    var wait: LaneWait?
    var activity = "starting"
    var lastBeat = ContinuousClock.now
    /// When the running query began.
    var askedAt: ContinuousClock.Instant?
    var cancellation: Cancellation?
  }

  /// A lane whose query runs for longer is not ready.
  private static let answerLimit = Duration.seconds(10)

  private let state = Mutex(State())

  package init() {}

  /// Makes the lane finish the transaction in hand and end.
  package func stop() { state.withLock { $0.isStopping = true } }

  /// Whether the lane was asked to stop.
  public var isStopping: Bool { state.withLock { $0.isStopping } }

  /// Whether the lane could commit a batch now, according to the last responses. False while the
  /// database has not responded for ten seconds.
  public var isReady: Bool {
    get {
      state.withLock { state in
        state.isReady && !(state.askedAt.map { .now - $0 > Self.answerLimit } ?? false)
      }
    }
    set { state.withLock { $0.isReady = newValue } }
  }

  /// What the lane waits for, if anything.
  public var wait: LaneWait? {
    get { state.withLock { $0.wait } }
    set { state.withLock { $0.wait = newValue } }
  }

  /// What the lane is doing, for the log of a lane that does not end.
  package var activity: String {
    get { state.withLock { $0.activity } }
    set { state.withLock { $0.activity = newValue } }
  }

  /// Whether the lane's thread has ended.
  package var hasEnded: Bool {
    get { state.withLock { $0.hasEnded } }
    set { state.withLock { $0.hasEnded = newValue } }
  }

  /// Cancels the running statement of the lane's connection.
  var cancellation: Cancellation? {
    get { state.withLock { $0.cancellation } }
    set { state.withLock { $0.cancellation = newValue } }
  }

  /// Cancels the statement that the lane waits for, if any, which rolls its batch back. Blocks while
  /// the server is unreachable.
  package func cancelStatement() {
    state.withLock { $0.askedAt == nil ? nil : $0.cancellation }?.cancel()
  }

  /// Whether the lane waits for the database.
  var isAsking: Bool {
    get { state.withLock { $0.askedAt != nil } }
    set { state.withLock { $0.askedAt = newValue ? .now : nil } }
  }

  /// Records a heartbeat for the watchdog. librdkafka's own `max.poll.interval.ms` is no substitute: it
  /// is reset by polling even if the rest of the loop makes no progress.
  public func beat() { state.withLock { $0.lastBeat = .now } }

  /// Time since the last heartbeat.
  package var silence: Duration { state.withLock { .now - $0.lastBeat } }
}

/// The lane was asked to stop while it waited.
public struct Stopping: Error {
  public init() {}
}
