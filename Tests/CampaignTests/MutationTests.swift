import EmbeddedStack
import Foundation
import TestSupport
import Testing

/// Trying a mutation with `scripts/campaign-mutations` takes minutes; this checks only that they
/// apply.
@Suite struct MutationTests {
  static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  static let patches: [String] = {
    let directory = root.appending(path: "Campaign/Mutations").path
    let files = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return files.filter { $0.hasSuffix(".patch") }.sorted()
  }()

  @Test("each patch still applies", arguments: patches)
  func applies(patch: String) throws {
    let child = try ChildProcess(
      "/usr/bin/env",
      ["git", "-C", Self.root.path, "apply", "--check", "Campaign/Mutations/\(patch)"],
      output: .inherit)
    #expect(child.wait(seconds: hangLimitSeconds) == .exited(0), "make \(patch) anew")
  }

  @Test("docs/reliability.md describes each mutation")
  func documented() throws {
    let text = try String(
      contentsOf: Self.root.appending(path: "docs/reliability.md"), encoding: .utf8)
    #expect(Self.patches.count > 40)
    for patch in Self.patches {
      #expect(text.contains("`\(patch.dropLast(".patch".count))`"), "\(patch)")
    }
  }
}
