import EmbeddedStack
import Foundation
import Synchronization

/// Runs a round in its own process: the embedded broker is librdkafka's mock cluster, and a failed
/// assertion in it aborts only that process and not the campaign.
struct RoundProcess {
  /// The outcome of a round.
  enum Outcome {
    case report(RoundReport)
    /// The embedded broker aborted, so the round has no result.
    case void(String)
  }

  var commit: String
  /// The directory for plan and logs if violations are found.
  var keeping: URL?
  var recoverySecondsMax: Double

  func run(_ plan: CampaignPlan) throws -> Outcome {
    let directory = FileManager.default.temporaryDirectory.appending(
      path: "magpie-round-\(UUID().uuidString.prefix(8).lowercased())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let (planFile, reportFile) = (
      directory.appending(path: "plan.json"), directory.appending(path: "report.json")
    )
    try JSONEncoder().encode(plan).write(to: planFile)
    var arguments = [
      "--plan", planFile.path, "--report", reportFile.path, "--commit", commit,
      "--recovery-seconds", "\(recoverySecondsMax)",
    ]
    if let keeping { arguments += ["--keep", keeping.path] }
    let assertion = Mutex<String?>(nil)
    let child = try ChildProcess(
      Bundle.main.executablePath ?? CommandLine.arguments[0], arguments,
      environment: ["SWIFT_BACKTRACE": "enable=no"],
      output: .lines { line in
        if line.contains("rdkafka_mock") { assertion.withLock { $0 = line } }
        FileHandle.standardError.write(Data((line + "\n").utf8))
      })
    let exit = child.wait(seconds: plan.seconds + 2 * World.hangLimitSeconds)
    child.terminate(within: 30)
    if exit == .exited(0), let data = try? Data(contentsOf: reportFile) {
      return .report(try JSONDecoder().decode(RoundReport.self, from: data))
    }
    if case .signalled = exit, let line = assertion.withLock({ $0 }) { return .void(line) }
    throw CampaignError(
      "the round of seed \(plan.seed) ended with \(exit.map { "\($0)" } ?? "a timeout")")
  }
}
