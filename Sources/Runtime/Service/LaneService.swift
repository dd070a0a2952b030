import Foundation
import Lanes
import Logging
import ServiceLifecycle

/// Runs the lanes' threads until all of them have ended. A lane that throws stops the others.
struct LaneService: Service {
  let drainSeconds: Int
  let statuses: [LaneStatus]
  let logger: Logger
  let body: @Sendable (LaneStatus, Logger) throws -> Void

  func run() async throws {
    try await withTaskCancellationOrGracefulShutdownHandler {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, status) in statuses.enumerated() {
          group.addTask {
            do {
              try await runLane(index, status)
            } catch {
              // waitForAll waits for all lanes even if one has thrown.
              logger.error("a lane failed; stopping all lanes", metadata: ["error": "\(error)"])
              stopAll()
              throw error
            }
          }
        }
        try await group.waitForAll()
      }
    } onCancelOrGracefulShutdown: {
      stopAll()
    }
  }

  private func stopAll() {
    for status in statuses { status.stop() }
    exitIfNotDrained()
  }

  private func runLane(_ index: Int, _ status: LaneStatus) async throws {
    var logger = logger
    logger[metadataKey: "lane"] = "\(index)"
    let result = await withCheckedContinuation { [body, logger] continuation in
      // The lane blocks in poll and in libpq, which must not occupy a thread of the concurrency pool.
      let thread = Thread {
        continuation.resume(returning: Result { try body(status, logger) })
      }
      thread.name = "lane-\(index)"
      thread.stackSize = 8 << 20
      thread.start()
    }
    status.isReady = false
    status.hasEnded = true
    try result.get()
  }

  /// After half of the time, cancels statements that still run, for example waiting for a lock, so that
  /// their lanes roll back and leave the group. After all of it, exits if a lane has not ended: an
  /// unfinished batch was not committed and is not lost.
  private func exitIfNotDrained() {
    let (seconds, statuses, logger) = (drainSeconds, statuses, logger)
    Thread.detachNewThread {
      Thread.sleep(forTimeInterval: Double(seconds) / 2)
      for status in statuses { Thread.detachNewThread { status.cancelStatement() } }
      Thread.sleep(forTimeInterval: Double(seconds) / 2)
      let late = statuses.filter { !$0.hasEnded }
      guard !late.isEmpty else { return }
      exitProcess(1) {
        logger.error(
          "the batch in hand did not finish within \(seconds) s; exiting",
          metadata: ["lanes": "\(late.map(\.activity).joined(separator: ", "))"])
      }
    }
  }
}
