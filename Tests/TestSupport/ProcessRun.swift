public import Foundation

/// What a process printed, and how it ended.
public struct ProcessResult: Sendable {
  public var status: Int32
  public var output: [UInt8]
  public var error: [UInt8]
}

extension Process {
  /// Starts the process and waits for its end, without blocking a thread that other tests need.
  public func runToEnd() async throws {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      terminationHandler = { _ in done.resume() }
      do {
        try start()
      } catch {
        terminationHandler = nil
        done.resume(throwing: error)
      }
    }
  }

  /// Runs the process with an input, and returns what it printed.
  public func result(of input: [UInt8]) async throws -> ProcessResult {
    let directory = FileManager.default.temporaryDirectory.appending(path: "process-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    // Files, because a full pipe would block the process.
    let files = ["in", "out", "err"].map { directory.appending(path: $0) }
    try Data(input).write(to: files[0])
    for file in files[1...] { try Data().write(to: file) }
    standardInput = try FileHandle(forReadingFrom: files[0])
    standardOutput = try FileHandle(forWritingTo: files[1])
    standardError = try FileHandle(forWritingTo: files[2])
    try await runToEnd()
    return ProcessResult(
      status: terminationStatus, output: [UInt8](try Data(contentsOf: files[1])),
      error: [UInt8](try Data(contentsOf: files[2])))
  }
}

/// The lines that a Python script prints. Needs `python3`.
///
/// - Parameter python: an interpreter's path, or its name in `PATH`.
/// - Throws: `ScriptError` with what the script wrote to its standard error, if it fails.
public func pythonLines(
  _ script: URL, _ arguments: [String], python: String = "python3", input: [UInt8] = []
) async throws -> [ArraySlice<UInt8>] {
  let process = Process()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = [python, script.path] + arguments
  let result = try await process.result(of: input)
  guard result.status == 0 else {
    throw ScriptError(message: String(decoding: result.error, as: UTF8.self))
  }
  return result.output.split(separator: UInt8(ascii: "\n"))
}

public struct ScriptError: Error {
  public var message: String
}
