import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Service

/// Log lines that cannot be written.
@Suite struct LogOutputTests {
  private final class Lost: Sendable {
    private let count = Mutex(0)
    var lines: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
  }

  private let lost = Lost()

  /// - Parameter flags: `O_NONBLOCK`: when it is full, it rejects writes. 0: writes block.
  private func pipe(flags: Int32 = O_NONBLOCK) throws -> (read: Int32, write: Int32) {
    signal(SIGPIPE, SIG_IGN)
    var ends: [Int32] = [0, 0]
    try #require(Foundation.pipe(&ends) == 0)
    try #require(fcntl(ends[1], F_SETFL, flags) == 0)
    return (ends[0], ends[1])
  }

  private func output(_ descriptor: Int32) -> LogOutput {
    LogOutput(descriptor: descriptor) { [lost] in lost.add() }
  }

  #if os(Linux)
    @Test func `a full disk loses lines, counts them, and ends nothing`() throws {
      let descriptor = open("/dev/full", O_WRONLY)
      try #require(descriptor >= 0)
      defer { close(descriptor) }
      let logger = Logger(label: "test") { [output = output(descriptor)] label in
        LineLogHandler(label: label, format: .json, logLevel: .info, output: output)
      }
      for number in 0..<3 { logger.error("line \(number)") }
      #expect(lost.lines == 3)
    }
  #endif

  @Test(arguments: [LogFormat.text, .json])
  func `the time of a line says that it is UTC`(format: LogFormat) throws {
    let ends = try pipe()
    defer { for end in [ends.read, ends.write] { close(end) } }
    let logger = Logger(label: "test") { [output = output(ends.write)] label in
      LineLogHandler(label: label, format: format, logLevel: .info, output: output)
    }
    logger.error("line")
    var buffer = [UInt8](repeating: 0, count: 1 << 10)
    let count = read(ends.read, &buffer, buffer.count)
    let line = String(decoding: buffer[..<max(0, count)], as: UTF8.self)
    #expect(line.contains(#/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#), "\(line)")
  }

  @Test func `a pipe without a reader loses lines, counts them, and ends nothing`() throws {
    let ends = try pipe()
    close(ends.read)
    defer { close(ends.write) }
    let output = output(ends.write)
    for _ in 0..<3 { output.write(line: "line") }
    #expect(lost.lines == 3)
  }

  @Test(arguments: [O_NONBLOCK, 0])
  func `what a full pipe cuts off is counted, and the next line begins on its own`(flags: Int32)
    async throws
  {
    let ends = try pipe(flags: flags)
    defer { for end in [ends.read, ends.write] { close(end) } }
    let output = output(ends.write)
    // A write that blocks must not hang the test.
    Thread.detachNewThread {
      output.write(line: String(repeating: "x", count: 1 << 20))
      output.write(line: "also lost")
    }
    try await eventually("both lines are lost") { lost.lines == 2 }
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    #expect(read(ends.read, &buffer, buffer.count) > 0)
    output.write(line: "there again")
    #expect(lost.lines == 2)
    let count = read(ends.read, &buffer, buffer.count)
    #expect(String(decoding: buffer[..<max(0, count)], as: UTF8.self) == "\nthere again\n")
  }
}
