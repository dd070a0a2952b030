import Foundation
import Schedules
import TestSupport

let directory = ZoneDirectory()

/// The lines that a script beside this file prints: the answers of Python's standard library.
func referenceLines(_ script: String, _ arguments: String...) async throws -> [ArraySlice<UInt8>] {
  let folder = URL(filePath: #filePath).deletingLastPathComponent()
  return try await pythonLines(
    folder.appending(path: script), [ZoneDirectory.systemPath] + arguments)
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

func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }
