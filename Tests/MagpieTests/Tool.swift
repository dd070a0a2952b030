import Foundation
import TestSupport

/// Runs the built `magpie`, or a worker, as a process.
struct Tool {
  struct Result {
    var status: Int32
    var output: String
    var error: String

    var lines: [String] { output.split(separator: "\n").map(String.init) }
  }

  var executable = "magpie"
  var environment: [String: String] = [:]

  func callAsFunction(_ arguments: String..., input: [UInt8] = []) async throws -> Result {
    try await run(arguments, input: input)
  }

  func run(_ arguments: [String], input: [UInt8] = []) async throws -> Result {
    let result = try await makeProcess(arguments).result(of: input)
    return Result(
      status: result.status, output: String(decoding: result.output, as: UTF8.self),
      error: String(decoding: result.error, as: UTF8.self))
  }

  /// Runs it with a pseudo-terminal as standard output, or as standard error; returns what that shows.
  func onTerminal(
    _ arguments: String..., columns: UInt16 = 80, showsErrors: Bool = false
  ) async throws -> String {
    var (leader, follower): (Int32, Int32) = (-1, -1)
    var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    guard openpty(&leader, &follower, nil, nil, &size) == 0 else { throw POSIXError(.ENOTTY) }
    defer { close(leader) }
    let process = try makeProcess(arguments)
    process.environment?["TERM"] = environment["TERM"] ?? "xterm"
    process.standardInput = FileHandle.nullDevice
    let terminal = FileHandle(fileDescriptor: follower)
    process.standardOutput = showsErrors ? FileHandle.nullDevice : terminal
    process.standardError = showsErrors ? terminal : FileHandle.nullDevice
    try await process.runToEnd()
    // A terminal buffers a few KiB; the tests write less.
    _ = fcntl(leader, F_SETFL, O_NONBLOCK)
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    let count = read(leader, &bytes, bytes.count)
    close(follower)
    return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
  }

  func makeProcess(_ arguments: [String]) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try builtExecutable(executable))
    process.arguments = arguments
    // Excludes the settings of the shell that runs the tests.
    var inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("MAGPIE_") }
    inherited["NO_COLOR"] = nil
    process.environment = inherited.merging(environment) { $1 }
    return process
  }
}

/// The value of a member of a JSON object.
func member<Value>(_ name: String, of line: String, as _: Value.Type = Value.self) throws -> Value?
{
  let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
  return object?[name] as? Value
}
