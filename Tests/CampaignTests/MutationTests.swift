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

  @Test("all mutations that the campaign must detect exist")
  func completeness() {
    #expect(
      Set(Self.patches).isSuperset(of: [
        "bell-boundary-skipped.patch", "bell-deletion-ignored.patch",
        "bell-former-author-forgotten.patch", "bell-locked-skipped.patch",
        "block-not-for-later.patch", "block-not-in-feeds.patch", "commit-assumed.patch",
        "dead-letter-outside.patch", "epoch-not-bumped.patch", "fence-removed.patch",
        "erased-let-in.patch", "erasure-not-awaited.patch",
        "erasure-leaves-letters.patch", "erasure-leaves-messages.patch",
        "erasure-leaves-likes.patch", "erasure-leaves-blocks.patch",
        "erasure-leaves-profiles.patch", "erasure-leaves-reminders.patch",
        "erasure-leaves-devices.patch",
        "follow-marks-exchanged.patch", "layout-in-characters.patch",
        "mute-unreviewed.patch", "offsets-first.patch", "push-read-left.patch",
        "push-token-kept.patch", "push-unanswered-not-removed.patch",
        "rendering-unpublished.patch",
        "ring-named-by-attempt.patch", "ring-not-withdrawn.patch", "seen-overwritten.patch",
        "stream-first-state-only.patch",
        "tombstones-dropped.patch", "unblock-restores-nothing.patch",
        "withdrawal-dropped.patch",
      ]))
  }
}
