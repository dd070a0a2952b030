import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Lanes
@testable import Service

@Suite struct LaneServiceTests {
  private struct Broken: Error {}

  @Test("a lane that stops for an operator stops the others")
  func firstStopsTheOthers() async throws {
    let statuses = (0..<3).map { _ in LaneStatus() }
    let service = LaneService(
      // Otherwise the drain timeout would end the test process.
      drainSeconds: 86_400, statuses: statuses, logger: Logger(label: "test")
    ) { status, _ in
      if status === statuses[1] { throw Broken() }
      while !status.isStopping { Thread.sleep(forTimeInterval: 0.01) }
    }
    let ended = Mutex<Result<Void, any Error>?>(nil)
    Task {
      do {
        try await service.run()
        ended.withLock { $0 = .success(()) }
      } catch {
        ended.withLock { $0 = .failure(error) }
      }
    }
    try await eventually("the service has ended") { ended.withLock { $0 != nil } }
    #expect(throws: Broken.self) { try ended.withLock { $0 }?.get() }
    let stoppingCount = statuses.count { $0.isStopping }
    #expect(stoppingCount == 3)
  }

  @Test("a process whose lanes have ended does not exit when the time to drain is over")
  func drained() async throws {
    let status = LaneStatus()
    let service = LaneService(
      drainSeconds: 1, statuses: [status], logger: Logger(label: "test")
    ) { _, _ in throw Broken() }
    await #expect(throws: Broken.self) { try await service.run() }
    #expect(status.hasEnded)
    // It would end the test process.
    try await Task.sleep(for: .milliseconds(1500))
  }
}
