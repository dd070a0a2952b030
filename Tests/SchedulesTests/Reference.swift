import Foundation
import Schedules
import TestSupport

let directory = ZoneDirectory()

/// What a script beside this file writes: the answers of Python's standard library.
enum Reference {
  struct Failed: Error {
    var status: Int32
  }

  /// The lines of the output. Needs `python3`; its errors are on the test's standard error.
  static func lines(_ script: String, _ arguments: String...) async throws -> [ArraySlice<UInt8>] {
    // A file, because waiting for a pipe would block a thread that other tests need.
    let output = FileManager.default.temporaryDirectory.appending(path: "reference-\(UUID())")
    try Data().write(to: output)
    defer { try? FileManager.default.removeItem(at: output) }
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: script).path
    process.arguments = ["python3", path, ZoneDirectory.systemPath] + arguments
    process.standardOutput = try FileHandle(forWritingTo: output)
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      process.terminationHandler = { _ in done.resume() }
      do {
        try process.start()
      } catch {
        process.terminationHandler = nil
        done.resume(throwing: error)
      }
    }
    guard process.terminationStatus == 0 else {
      throw Failed(status: process.terminationStatus)
    }
    return [UInt8](try Data(contentsOf: output)).split(separator: 0x0A)
  }
}

/// A number at the start of the bytes, removed from them with the byte behind it.
func takeNumber(_ bytes: inout ArraySlice<UInt8>) -> Int64 {
  let isNegative = bytes.first == UInt8(ascii: "-")
  if isNegative { bytes.removeFirst() }
  var number: Int64 = 0
  while let byte = bytes.popFirst(), 0x30...0x39 ~= byte {
    number = number * 10 + Int64(byte - 0x30)
  }
  return isNegative ? -number : number
}

/// SplitMix64: the same numbers in each run.
struct SeededNumbers: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }
