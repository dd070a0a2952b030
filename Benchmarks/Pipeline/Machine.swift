import EmbeddedStack
import Foundation
import Kafka

/// The machine that produced the figures.
struct Machine: Codable, Hashable {
  var processor: String
  var processors: Int
  var memoryGiB: Double
  var system: String
  var postgres: String
  var isReleaseBuild: Bool

  static func current() -> Machine {
    let processInfo = ProcessInfo.processInfo
    let models = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?
      .split(separator: "\n").first { $0.hasPrefix("model name") }?
      .split(separator: ":").last
    return Machine(
      processor: models?.trimmingCharacters(in: .whitespaces) ?? "unknown",
      processors: processInfo.activeProcessorCount,
      memoryGiB: (Double(processInfo.physicalMemory) / Double(1 << 30)).rounded(),
      system: processInfo.operatingSystemVersionString, postgres: postgresVersion(),
      isReleaseBuild: isRelease)
  }

  private static var isRelease: Bool {
    #if DEBUG
      false
    #else
      true
    #endif
  }

  private static func postgresVersion() -> String {
    let file = FileManager.default.temporaryDirectory.appending(
      path: "magpie-bench-version-\(getpid())")
    defer { try? FileManager.default.removeItem(at: file) }
    let child = try? ChildProcess(
      "/usr/bin/env", ["pg_config", "--version"], output: .file(file.path))
    _ = child?.wait(seconds: 5)
    let text = try? String(contentsOf: file, encoding: .utf8)
    return text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown"
  }
}
