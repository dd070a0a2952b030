import Foundation
public import Logging

extension LaneStatus {
  /// Repeats what fails for a passing reason, for ever, until asked to stop; unready meanwhile.
  ///
  /// Blocks the lane's thread, in steps short enough for the watchdog and for a stop.
  ///
  /// - Parameter reason: names why another attempt may succeed; throws what else is to be done.
  /// - Throws: what `reason` throws; `Stopping` when asked to stop while waiting.
  public func retrying<T>(
    metrics: Metrics, logger: Logger, reason: (any Error) throws -> String, _ body: () throws -> T
  ) throws -> T {
    var backoff = Backoff()
    while true {
      do {
        let result = try body()
        isReady = true
        return result
      } catch {
        let reason = try reason(error)
        metrics.increment(.retries, [reason])
        if reason.meansUnready { isReady = false }
        logger.warning("trying again", metadata: ["error": "\(error)"])
        wait(milliseconds: backoff.nextDelayMilliseconds())
        if isStopping { throw Stopping() }
      }
    }
  }

  /// Returns early when asked to stop.
  func wait(milliseconds: Int) {
    let end = ContinuousClock.now + .milliseconds(milliseconds)
    while !isStopping, ContinuousClock.now < end {
      beat()
      Thread.sleep(forTimeInterval: 0.02)
    }
  }
}

/// Repeats what fails for a passing reason until `patience` is over, and throws the last failure
/// then; at once what `reasonToRetry` throws. Blocks the thread.
func withPatience<T>(_ patience: Duration, _ body: () throws -> T) throws -> T {
  var backoff = Backoff()
  let deadline = ContinuousClock.now + patience
  while true {
    do {
      return try body()
    } catch {
      _ = try reasonToRetry(error)
      guard .now < deadline else { throw error }
      Thread.sleep(forTimeInterval: Double(backoff.nextDelayMilliseconds()) / 1000)
    }
  }
}
