import EmbeddedStack
import Events
import Foundation
import Model
import Postgres
import TestSupport
import Testing
import Verification

/// Compares an existing stack with the model.
@Suite struct WorkloadComparisonTests {
  /// The published workloads of `magpie generate`, as `users:events:seed` separated by spaces.
  static let workloads = ProcessInfo.processInfo.environment["MAGPIE_E2E_WORKLOADS"]

  @Test(
    "the given database equals the model of the given workloads",
    .enabled(if: workloads != nil, "set MAGPIE_E2E_WORKLOADS and MAGPIE_DATABASE_URL"))
  func equalsModel() throws {
    let workloads = try #require(Self.workloads).split(separator: " ")
    let url = try #require(ProcessInfo.processInfo.environment["MAGPIE_DATABASE_URL"])
    let file = NSTemporaryDirectory() + "magpie-workload-\(UUID().uuidString).jsonl"
    defer { try? FileManager.default.removeItem(atPath: file) }
    var events: [Event] = []
    for workload in workloads {
      let numbers = workload.split(separator: ":").map(String.init)
      try #require(numbers.count == 3)
      let generating = try ChildProcess(
        builtExecutable("magpie"),
        [
          "generate", "--users", numbers[0], "--events", numbers[1], "--seed", numbers[2],
          "--output", file,
        ])
      #expect(generating.wait(seconds: hangLimitSeconds) == .exited(0))
      events += try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map {
        try StructuredEvent.decode(String($0))
      }
    }
    let connection = try Connection(url, applicationName: "test")
    let differences = try ModelComparison(model: Model(events), connection: connection)
      .differences()
    #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
    let letters = try connection.query("SELECT count(*) FROM dead_letters")
    #expect(try letters.only.int(0) == 0)
  }
}
