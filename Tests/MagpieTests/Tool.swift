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
    let directory = URL(fileURLWithPath: NSTemporaryDirectory() + "magpie-tool-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    // Files, because a full pipe would block the process.
    let files = ["in", "out", "err"].map { directory.appendingPathComponent($0) }
    try Data(input).write(to: files[0])
    for file in files[1...] { try Data().write(to: file) }
    let process = try makeProcess(arguments)
    process.standardInput = try FileHandle(forReadingFrom: files[0])
    process.standardOutput = try FileHandle(forWritingTo: files[1])
    process.standardError = try FileHandle(forWritingTo: files[2])
    try await Self.runToEnd(process)
    return Result(
      status: process.terminationStatus,
      output: String(decoding: try Data(contentsOf: files[1]), as: UTF8.self),
      error: String(decoding: try Data(contentsOf: files[2]), as: UTF8.self))
  }

  /// Runs it with a pseudo-terminal as standard output; returns the output.
  func onTerminal(_ arguments: String...) async throws -> String {
    var (leader, follower): (Int32, Int32) = (-1, -1)
    guard openpty(&leader, &follower, nil, nil, nil) == 0 else { throw POSIXError(.ENOTTY) }
    defer { close(leader) }
    let process = try makeProcess(arguments)
    process.environment?["TERM"] = "xterm"
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle(fileDescriptor: follower)
    process.standardError = FileHandle.nullDevice
    try await Self.runToEnd(process)
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

  private static func runToEnd(_ process: Process) async throws {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      process.terminationHandler = { _ in done.resume() }
      do {
        try process.start()
      } catch {
        process.terminationHandler = nil
        done.resume(throwing: error)
      }
    }
  }
}

/// The value of a member of a JSON object.
func member<Value>(_ name: String, of line: String, as _: Value.Type = Value.self) throws -> Value?
{
  let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
  return object?[name] as? Value
}
