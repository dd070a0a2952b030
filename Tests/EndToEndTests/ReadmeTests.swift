import Foundation
import TestSupport
import Testing

/// The commands in README.md.
@Suite struct ReadmeTests {
  @Test("the README's commands work in order and print what it describes")
  func commands() async throws {
    let readme = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "README.md"), encoding: .utf8)
    let lines = readme.split(separator: "\n").filter { $0.hasPrefix("    ") }
    let workers = lines.first { $0.contains("fanout-worker &") }?.split(separator: "&").map {
      $0.trimmingCharacters(in: .whitespaces)
    }
    #expect(workers == Stack.workers)
    var commands: [[String]] = []
    for line in lines {
      // A comment ends a line; && and ; separate commands.
      let code = String(line.prefix { $0 != "#" }).replacing("&&", with: ";")
      for command in code.split(separator: ";") {
        let words = command.split(separator: " ").map(String.init)
        if words.first == "magpie" { commands.append(Array(words.dropFirst())) }
      }
    }
    #expect(commands.count >= 6)

    // The number of partitions that `magpie topics` creates.
    let stack = try Stack(partitions: 12)
    defer { stack.stop() }
    for worker in Stack.workers { try stack.start(worker) }
    for command in commands {
      let result = try stack.magpie(command)
      #expect(result.exit == .exited(0), "magpie \(command): \(result.output)\n\(stack.logTails)")
      if command.first == "publish" {
        // The next commands expect applied events.
        _ = try stack.magpie("verify", "--wait", hangLimitText)
      }
      if command.first == "alarms" {
        #expect(result.output.contains("your post"), "\(result.output)")
      }
    }
  }
}
