import Synchronization

/// How far a rebuild is.
public struct RebuildProgress: Sendable {
  /// What is being done, for a person.
  public var step = ""
  /// Records to apply, as far as is known; grows while the log does.
  public var recordsTotal: Int64 = 0
  /// Records passed since the start of this process.
  public var records: Int64 = 0
  public var deadLetters: Int64 = 0
  /// The handlers' counts, such as `deliveries`.
  public var counts: [String: Int64] = [:]
  /// Since the start of this process.
  public var elapsed: Duration = .zero

  public var recordsPerSecond: Double {
    elapsed > .zero ? Double(records) / (elapsed / .seconds(1)) : 0
  }

  /// Until everything known is applied, at the rate so far; nil before there is a rate.
  public var remainingSeconds: Double? {
    recordsPerSecond > 0 ? Double(max(0, recordsTotal - records)) / recordsPerSecond : nil
  }
}

/// The counts of all threads of a rebuild. Thread-safe.
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

  /// Begins a step in which so many more records are to be applied.
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
