import EmbeddedStack
import Foundation
import TestSupport

/// A real process of this package's executable, with all its output.
final class Running: Sendable {
  let child: ChildProcess
  private let file: String

  /// - Parameter environment: merged into this process's environment without its MAGPIE_ and PG
  ///   variables.
  init(_ executable: String, _ arguments: [String], _ environment: [String: String]) throws {
    file = "/tmp/magpie-security-\(UUID().uuidString).log"
    var all: [String: String?] = [:]
    for name in ProcessInfo.processInfo.environment.keys
    where name.hasPrefix("MAGPIE_") || name.hasPrefix("PG") {
      all.updateValue(nil, forKey: name)
    }
    for (name, value) in environment { all[name] = value }
    child = try ChildProcess(
      builtExecutable(executable), arguments, environment: all, output: .file(file))
  }

  deinit {
    child.terminate(SIGKILL)
    try? FileManager.default.removeItem(atPath: file)
  }

  /// Standard output and error so far.
  var output: String {
    String(decoding: (try? Data(contentsOf: URL(filePath: file))) ?? Data(), as: UTF8.self)
  }

  /// How it exited by itself; nil if it did not in time and was killed.
  func end(within seconds: Double = 2 * hangLimitSeconds) -> ChildProcess.Exit? {
    let exit = child.wait(seconds: seconds)
    if exit == nil { child.terminate(SIGKILL) }
    return exit
  }
}

/// Runs an executable to its end.
func run(_ executable: String, _ arguments: [String] = [], _ environment: [String: String]) throws
  -> (exit: ChildProcess.Exit?, output: String)
{
  let running = try Running(executable, arguments, environment)
  let exit = running.end()
  return (exit, running.output)
}
