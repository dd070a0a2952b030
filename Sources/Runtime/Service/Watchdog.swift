import Foundation
import Lanes
import Logging

/// Ends the process when a lane makes no step for too long, so that whoever supervises it starts
/// it anew: a wedged lane's partitions would stay with it for ever, because librdkafka goes on
/// sending heartbeats.
func startWatchdog(lanes: [LaneStatus], limitSeconds: Int, logger: Logger) {
  Thread.detachNewThread {
    while true {
      Thread.sleep(forTimeInterval: 1)
      guard let silence = lanes.map(\.silence).max(), silence > .seconds(limitSeconds) else {
        continue
      }
      logger.critical("a lane made no step for \(silence); exiting to be started anew")
      exit(70)
    }
  }
}
