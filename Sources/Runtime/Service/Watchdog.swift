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
      logger.critical("a lane made no progress for \(silence); exiting to be restarted")
      exit(70)
    }
  }
}
