import Postgres
import Synchronization

/// What a lane and the rest of its process tell each other. Thread-safe.
public final class LaneStatus: Sendable {
  private struct State {
    var isStopping = false
    var isReady = false
    var wait: LaneWait?
    var lastBeat = ContinuousClock.now
    /// Since when the database owes an answer.
    var askedAt: ContinuousClock.Instant?
    var cancellation: Cancellation?
    var waitsFor: String?
  }

  /// A database that owes an answer for longer is not one that a batch could be committed to now.
  private static let answerLimit = Duration.seconds(10)

  private let state = Mutex(State())

  package init() {}

  /// Asks the lane to finish the batch in hand and leave.
  package func stop() { state.withLock { $0.isStopping = true } }

  /// Whether the lane was asked to stop.
  public var isStopping: Bool { state.withLock { $0.isStopping } }

  /// Whether the lane could commit a batch now, as far as it knows. False, whatever was set, while the
  /// database has not answered for ten seconds.
  public var isReady: Bool {
    get {
      state.withLock { state in
        state.isReady && !(state.askedAt.map { .now - $0 > Self.answerLimit } ?? false)
      }
    }
    set { state.withLock { $0.isReady = newValue } }
  }

  /// What keeps the lane from getting partitions, if anything does.
  public var wait: LaneWait? {
    get { state.withLock { $0.wait } }
    set { state.withLock { $0.wait = newValue } }
  }

  /// Why the lane tries something again, such as `schema` or `connection`; nil when it does not.
  package var waitsFor: String? {
    get { state.withLock { $0.waitsFor } }
    set { state.withLock { $0.waitsFor = newValue } }
  }

  /// What ends a statement of the lane's connection.
  var cancellation: Cancellation? {
    get { state.withLock { $0.cancellation } }
    set { state.withLock { $0.cancellation = newValue } }
  }

  /// Ends the statement that the lane waits for, if it does: its batch is rolled back. Blocks while the
  /// server cannot be reached.
  package func cancelStatement() {
    state.withLock { $0.askedAt == nil ? nil : $0.cancellation }?.cancel()
  }

  /// Runs what waits for the database, on the lane's thread.
  func asking<T>(_ body: () throws -> T) rethrows -> T {
    state.withLock { $0.askedAt = .now }
    defer { state.withLock { $0.askedAt = nil } }
    return try body()
  }

  /// Tells the watchdog that the lane's loop turns. Polling resets librdkafka's own
  /// `max.poll.interval.ms` whatever the rest of the loop does, so that is no sign of life.
  public func beat() { state.withLock { $0.lastBeat = .now } }

  /// How long the loop has not turned.
  package var silence: Duration { state.withLock { .now - $0.lastBeat } }
}

/// The lane was asked to stop while it waited for something.
public struct Stopping: Error {
  public init() {}
}
