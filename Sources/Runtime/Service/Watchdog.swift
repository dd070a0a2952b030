import Foundation
import Lanes
import Logging

/// Exits when a lane makes no step for too long, so that its supervisor restarts the process. A stuck
/// lane would keep its partitions, because librdkafka continues to send heartbeats.
func startWatchdog(lanes: [LaneStatus], limitSeconds: Int, logger: Logger) {
  Thread.detachNewThread {
    while true {
      Thread.sleep(forTimeInterval: 1)
      guard let silence = lanes.map(\.silence).max(), silence > .seconds(limitSeconds) else {
        continue
      }
      exitProcess(70) {
        logger.critical("a lane made no progress for \(silence); exiting to be restarted")
      }
    }
  }
}

/// Ends the process after `log` has returned, or after two seconds: the log may be stuck as well, and is given a second
/// for a line. Does not run the handlers of `exit`, which may wait for a stuck thread.
func exitProcess(_ code: Int32, _ log: @escaping @Sendable () -> Void) -> Never {
  Thread.detachNewThread {
    log()
    _exit(code)
  }
  Thread.sleep(forTimeInterval: 2)
  _exit(code)
}
