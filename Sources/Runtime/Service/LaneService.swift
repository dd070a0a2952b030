import Foundation
import Lanes
import Logging
import ServiceLifecycle
import Synchronization

/// Runs the lanes' threads and ends when all of them have; the first to stop for a reason that
/// only a person can resolve stops the others.
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
              // Here, because waitForAll waits for all of them also when one has thrown.
              logger.error("a lane stops, and the others with it", metadata: ["error": "\(error)"])
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
      // A thread of its own: the lane blocks in poll and in libpq, which must not take a thread
      // of the concurrency pool.
      let thread = Thread {
        continuation.resume(returning: Result { try body(status, logger) })
      }
      thread.name = "lane-\(index)"
      thread.stackSize = 8 << 20
      thread.start()
    }
    status.isReady = false
    try result.get()
  }

  /// A lane that still waits for the database after half of the time, such as for a lock, has its
  /// statement canceled, so that it rolls back and leaves the group. One that cannot finish in time all
  /// the same is left to the fence: its batch was not committed and is not lost.
  private func exitIfNotDrained() {
    let (seconds, statuses, logger) = (drainSeconds, statuses, logger)
    Thread.detachNewThread {
      Thread.sleep(forTimeInterval: Double(seconds) / 2)
      for status in statuses { Thread.detachNewThread { status.cancelStatement() } }
      Thread.sleep(forTimeInterval: Double(seconds) / 2)
      logger.error("the batch in hand could not be finished in \(seconds) s; leaving it")
      exit(1)
    }
  }
}
