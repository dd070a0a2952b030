import Synchronization

/// What a lane and the rest of its process tell each other. Thread-safe.
public final class LaneStatus: Sendable {
  private struct State {
    var isStopping = false
    var isReady = false
    var lastBeat = ContinuousClock.now
  }

  private let state = Mutex(State())

  /// Asks the lane to finish the batch in hand and leave.
  func stop() { state.withLock { $0.isStopping = true } }

  /// Whether the lane was asked to stop.
  public var isStopping: Bool { state.withLock { $0.isStopping } }

  /// Whether the lane could commit a batch now, as far as it knows.
  public var isReady: Bool {
    get { state.withLock { $0.isReady } }
    set { state.withLock { $0.isReady = newValue } }
  }

  /// Tells the watchdog that the lane's loop turns. Polling resets librdkafka's own
  /// `max.poll.interval.ms` whatever the rest of the loop does, so that is no sign of life.
  public func beat() { state.withLock { $0.lastBeat = .now } }

  /// How long the loop has not turned.
  var silence: Duration { state.withLock { .now - $0.lastBeat } }
}

/// The lane was asked to stop while it waited for something.
public struct Stopping: Error {
  public init() {}
}
