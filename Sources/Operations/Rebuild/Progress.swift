import Synchronization

/// The progress of a rebuild.
public struct RebuildProgress: Sendable {
  /// The current step, for display.
  public var step = ""
  /// Known records to apply; grows with the log.
  public var recordsTotal: Int64 = 0
  /// Records processed since this process started.
  public var records: Int64 = 0
  public var deadLetters: Int64 = 0
  /// The handlers' counts, such as `deliveries`.
  public var counts: [String: Int64] = [:]
  /// Time since this process started.
  public var elapsed: Duration = .zero

  public var recordsPerSecond: Double {
    elapsed > .zero ? Double(records) / (elapsed / .seconds(1)) : 0
  }

  /// The time until all known records are applied, at the rate so far; nil before there is a rate.
  public var remainingSeconds: Double? {
    recordsPerSecond > 0 ? Double(max(0, recordsTotal - records)) / recordsPerSecond : nil
  }
}

/// Adds up the progress of all threads of a rebuild. Thread-safe.
final class ProgressCounter: Sendable {
  private let state = Mutex(RebuildProgress())
  private let started = ContinuousClock.now

  func add(records: Int, deadLetters: Int = 0, counts: [String: Int]) {
    state.withLock { state in
      state.records += Int64(records)
      state.deadLetters += Int64(deadLetters)
      for (name, count) in counts { state.counts[name, default: 0] += Int64(count) }
    }
  }

  /// Begins a step with `records` more records to apply.
  func begin(_ step: String, records: Int64 = 0) {
    state.withLock { state in
      state.step = step
      state.recordsTotal = state.records + records
    }
  }

  var progress: RebuildProgress {
    var progress = state.withLock { $0 }
    progress.elapsed = .now - started
    return progress
  }
}
