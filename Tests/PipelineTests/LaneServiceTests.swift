import Foundation
import Logging
import Testing

@testable import Pipeline

@Suite struct LaneServiceTests {
  private struct Broken: Error {}

  @Test(
    "a lane that stops for a reason that only a person can resolve stops the others",
    .timeLimit(.minutes(1)))
  func firstStopsTheOthers() async {
    let statuses = (0..<3).map { _ in LaneStatus() }
    let service = LaneService(
      // Else the process of the tests would be ended.
      drainSeconds: 86_400, statuses: statuses, logger: Logger(label: "test")
    ) { status, _ in
      if status === statuses[1] { throw Broken() }
      while !status.isStopping { Thread.sleep(forTimeInterval: 0.01) }
    }
    await #expect(throws: Broken.self) { try await service.run() }
    let stoppingCount = statuses.count { $0.isStopping }
    #expect(stoppingCount == 3)
  }
}
