import EmbeddedStack
import Foundation
import TestSupport

/// A running `magpie up` with its own directory.
final class RunningUp {
  let process: ChildProcess
  let directory: String
  /// The tool with the settings that `up` printed.
  private(set) var magpie = Tool()

  private let log: String

  var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

  /// Starts it and waits until it has printed its addresses.
  ///
  /// - Parameter shell: what a shell does before it becomes the process.
  init(
    _ arguments: String..., in directory: String? = nil,
    environment additions: [String: String?] = [:], after shell: String = ":"
  ) async throws {
    self.directory = directory ?? "/tmp/magpie-up-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(
      atPath: self.directory, withIntermediateDirectories: true)
    log = self.directory + "/up-\(UUID().uuidString.prefix(8)).log"
    process = try ChildProcess(
      "/bin/sh",
      ["-c", "\(shell); exec \"$0\" up \"$@\"", builtExecutable("magpie")]
        + ["--state-dir", self.directory + "/state"] + arguments,
      environment: Self.withoutSettings.merging(additions) { $1 }, output: .file(log))
    try await eventually("magpie up is ready") {
      if let exit = process.exit { throw StackError("magpie up ended (\(exit)): \(output)") }
      return output.contains("ready")
    }
    for line in output.split(separator: "\n") where line.hasPrefix("export ") {
      let parts = line.dropFirst("export ".count).split(separator: "=", maxSplits: 1)
      magpie.environment[String(parts[0])] = parts[1].filter { $0 != "'" }
    }
  }

  /// Removes the settings of the shell that runs the tests.
  static var withoutSettings: [String: String?] {
    let names = ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("MAGPIE_") }
    return Dictionary(uniqueKeysWithValues: names.map { ($0, nil as String?) })
  }

  /// The process ids of its children with this name; empty without /proc.
  func children(named name: String) -> [Int32] { Self.children(of: process, named: name) }

  static func children(of process: ChildProcess, named name: String) -> [Int32] {
    let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return entries.compactMap { Int32($0) }.filter { child in
      // proc(5): pid (comm) state ppid ...; comm is truncated to 15 bytes.
      let text = try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)
      let fields = (text ?? "").split(separator: " ")
      return fields.count > 3 && fields[1] == "(\(name.prefix(15)))" && fields[2] != "Z"
        && fields[3] == String(process.processID)
    }
  }

  func remove() {
    process.terminate(within: 60)
    try? FileManager.default.removeItem(atPath: directory)
  }
}
