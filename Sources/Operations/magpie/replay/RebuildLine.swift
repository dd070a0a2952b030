import Foundation
import Rebuild
import Synchronization

/// A progress bar of a rebuild on standard error. Thread-safe.
final class RebuildLine: Sendable {
  private let line: Mutex<Progress>

  /// - Parameter json: standard output is for programs; the bar stays for people.
  init(forced: Bool, json: Bool) { line = Mutex(Progress(forced: forced)) }

  func show(_ progress: RebuildProgress) {
    line.withLock { line in
      line.show(Self.text(progress))
    }
  }

  static func text(_ progress: RebuildProgress) -> String {
    guard progress.recordsTotal > 0 else { return progress.step }
    let share = min(1, Double(progress.records) / Double(progress.recordsTotal))
    let width = 24
    let full = Int(share * Double(width))
    let bar = String(repeating: "#", count: full) + String(repeating: "-", count: width - full)
    let left = progress.remainingSeconds.map { seconds -> String in
      let seconds = Int(seconds.rounded(.up))
      return ", \(seconds / 3600):\(two(seconds % 3600 / 60)):\(two(seconds % 60)) left"
    }
    return "\(progress.step) [\(bar)] \(Int(share * 100))% "
      + "\(progress.records)/\(progress.recordsTotal) records, "
      + "\(Int(progress.recordsPerSecond))/s\(left ?? "")"
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
