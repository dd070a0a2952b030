import EmbeddedStack
import Foundation
import TestSupport
import Testing

/// A short fault campaign as a process, with a fixed seed; `make campaign` runs long ones.
@Suite(.onTrueEnds) struct ShortCampaignTests {
  static let regressions: [URL] = {
    let directory = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Campaign/Regressions").standardizedFileURL
    let files = try? FileManager.default.contentsOfDirectory(
      at: directory, includingPropertiesForKeys: nil)
    return (files ?? []).filter { $0.pathExtension == "json" }
      .sorted { $0.lastPathComponent < $1.lastPathComponent }
  }()

  @Test("half a minute of faults loses and duplicates nothing, and the workers recover")
  func short() throws {
    try expectNothingFound(["--seed", "1", "--minutes", "0.5", "--rate", "30"])
  }

  @Test(
    "schedules that once found a defect find none", .onDebugWorkers,
    arguments: regressions)
  func regression(plan: URL) throws { try expectNothingFound(["--plan", plan.path]) }

  private func expectNothingFound(_ arguments: [String]) throws {
    let output = NSTemporaryDirectory() + "magpie-campaign-\(UUID().uuidString).log"
    defer { try? FileManager.default.removeItem(atPath: output) }
    let campaign = try ChildProcess(
      builtExecutable("magpie-campaign"),
      arguments + ["--short", "--recovery-seconds", hangLimitText], output: .file(output))
    let exit = campaign.wait(seconds: 2 * hangLimitSeconds)
    campaign.terminate(within: 60)
    #expect(
      exit == .exited(0), "\((try? String(contentsOfFile: output, encoding: .utf8)) ?? "no output")"
    )
  }
}
