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

/// Adds up the progress of all threads of a rebuild, and stops them once one has failed. Thread-safe.
final class ProgressCounter: Sendable {
  private let state = Mutex(RebuildProgress())
  /// Why a part of the step has failed.
  private let failure = Mutex<(any Error)?>(nil)
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
    failure.withLock { $0 = nil }
    state.withLock { state in
      state.step = step
      state.recordsTotal = state.records + records
    }
  }

  /// Runs a part of the step. If it fails, so do the other parts, in their next `check`: what they do may take
  /// hours, and is resumed later.
  func part(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      failure.withLock { $0 = $0 ?? error }
      throw error
    }
  }

  /// - Throws: the error of a part of the step that has failed.
  func check() throws {
    if let error = failure.withLock({ $0 }) { throw error }
  }

  var progress: RebuildProgress {
    var progress = state.withLock { $0 }
    progress.elapsed = .now - started
    return progress
  }
}
