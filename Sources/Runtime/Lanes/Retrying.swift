import Foundation
public import Logging

extension LaneStatus {
  /// Retries transient failures without a limit until asked to stop; not ready meanwhile.
  ///
  /// Blocks the lane's thread, with regular heartbeats and checks for a stop.
  ///
  /// - Parameter reason: returns the reason for a retry, or throws if a retry does not help.
  /// - Throws: errors of `reason`; `Stopping` when asked to stop while waiting.
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
        if makesUnready(reason) { isReady = false }
        logger.warning("trying again", metadata: ["error": "\(error)"])
        wait(milliseconds: backoff.nextDelayMilliseconds())
        if isStopping { throw Stopping() }
      }
    }
  }

  /// Sends heartbeats meanwhile. Returns early when asked to stop.
  package func wait(milliseconds: Int) {
    let end = ContinuousClock.now + .milliseconds(milliseconds)
    while !isStopping, ContinuousClock.now < end {
      beat()
      Thread.sleep(forTimeInterval: 0.02)
    }
  }
}

/// Retries transient failures for `patience`, then throws the last one. Throws errors of
/// `reasonToRetry` immediately. Blocks the thread.
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
