import Events
import Foundation
import Synchronization

/// The workers' time of day: an hour passes on it during a round's faults, however short they are. Thread-safe.
///
/// Only Linux has such clocks; elsewhere it is the real one.
final class HourClock: Sendable {
  #if os(Linux)
    static let isPossible = true
  #else
    static let isPossible = false
  #endif

  /// How long a round is on this clock, in seconds. What is published last lies less than an hour in the future
  /// of the real clock, which the campaign's own reading of the log accepts.
  let span: Double
  /// How fast it goes during the faults.
  var rate: Double { span / seconds }

  private struct State {
    var start: ContinuousClock.Instant?
    /// The time when the hour ends.
    var end: EventTime?
    /// How many seconds the workers' clocks are ahead of the real one, at least.
    var ahead = 0.0
    /// By worker, seconds.
    var jumps: [String: Int] = [:]
    /// How many seconds push-worker's clock is ahead of the real one.
    var pushAhead: Double
  }

  private let seconds: Double
  private let directory: URL
  private let state: Mutex<State>

  /// - Parameters:
  ///   - seconds: the duration of the faults.
  ///   - directory: of the files from which the workers read their clocks' offsets.
  init(seconds: Double, directory: URL) {
    (self.seconds, self.directory) = (seconds, directory)
    span = Self.isPossible ? max(3600, seconds) : seconds
    state = Mutex(State(pushAhead: Self.isPossible ? span : 0))
  }

  /// push-worker's time, and the providers'. It compares the time of day with how long a request takes, so its clock is
  /// not fast, but an hour ahead: no other worker's is ahead of it.
  var pushNow: EventTime { after(state.withLock { $0.pushAhead }) }

  /// Everything is due that push-worker does within an hour.
  func passPushHour() { state.withLock { if Self.isPossible { $0.pushAhead += 3600 } } }

  /// The time, for events: no worker's clock is behind it, but for a jump.
  var now: EventTime {
    after(state.withLock { $0.ahead })
  }

  /// The hour begins.
  func start() {
    state.withLock { state in
      state.start = .now
      state.end = after(span)
    }
  }

  /// The time when the hour ends, if it began now or before.
  var end: EventTime { state.withLock { $0.end } ?? after(span) }

  private func after(_ seconds: Double) -> EventTime {
    EventTime(microseconds: EventTime.now.microseconds + Int64(seconds * 1_000_000))
  }

  /// Makes a worker's clock differ, from the next `tick` on.
  func jump(_ worker: WorkerProcess, by seconds: Int) {
    state.withLock { $0.jumps[worker.name] = seconds }
  }

  /// Sets the workers' clocks. Called several times a second.
  func tick(_ workers: [WorkerProcess]) throws {
    let (ahead, pushAhead, jumps) = state.withLock { state in
      let passed = state.start.map { min((ContinuousClock.now - $0) / .seconds(1), seconds) } ?? 0
      return (passed * (rate - 1), state.pushAhead, state.jumps)
    }
    for worker in workers {
      let base = worker.group == .push ? pushAhead : ahead
      let offset = Int64((base + Double(jumps[worker.name] ?? 0)) * 1_000_000)
      // In place, because the worker has mapped the file.
      let handle = try FileHandle(forWritingTo: file(worker))
      try handle.write(contentsOf: withUnsafeBytes(of: offset) { Data($0) })
      try handle.close()
    }
    // Only now: the load's events are not to come from the future.
    state.withLock { $0.ahead = ahead }
  }

  /// The environment of a worker with this clock.
  ///
  /// - Parameter executables: the directory of this package's build products.
  func environment(of worker: WorkerProcess, executables: URL) throws -> [String: String?] {
    guard Self.isPossible else { return [:] }
    try Data(count: 8).write(to: file(worker))
    return [
      "LD_PRELOAD": executables.appending(path: Self.library).path,
      "CAMPAIGN_CLOCK": file(worker).path,
    ]
  }

  /// See `Clock/`.
  static let library = "libCampaignClock.so"

  private func file(_ worker: WorkerProcess) -> URL {
    directory.appending(path: "\(worker.name).clock")
  }
}
