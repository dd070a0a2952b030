import Archive
import EmbeddedStack
import Foundation
import Kafka
import RecordLog
import Synchronization
import TestSupport
import Testing

@Suite("magpie archive run, killed")
struct ArchiveCrashTests {
  @Test("kill -9 at ten random moments under load loses and duplicates nothing")
  func kills() async throws {
    var random = SeededGenerator()
    let stage = try ArchiveStage()
    defer { stage.close() }
    let isOver = Mutex(false)
    let produced = DispatchSemaphore(value: 0)
    nonisolated(unsafe) let unsafeStage = stage  // its producer is thread-safe
    let seed = random.next()
    Thread.detachNewThread {
      var random = SeededGenerator(seed: seed)
      while !isOver.withLock({ $0 }) {
        try? unsafeStage.produce(20, &random)
        Thread.sleep(forTimeInterval: 0.02)
      }
      produced.signal()
    }
    for round in 0..<10 {
      let before = stage.generation()
      let process = try stage.start()
      if round % 4 != 0 {
        // Kill it while it writes, not while it starts.
        let steps = Int64.random(in: 1...4, using: &random)
        try await eventually("the archive grows") {
          if let exit = process.exit { throw StackError("ended (\(exit)): \(stage.log)") }
          return stage.generation() >= before + steps
        }
      }
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...200, using: &random)))
      process.signal(SIGKILL)
      #expect(
        process.wait(seconds: hangLimitSeconds) == .signalled(SIGKILL),
        "round \(round): \(stage.log)")
      #expect(
        try await stage.magpie("archive", "verify").status == (stage.generation() == 0 ? 69 : 0))
    }
    isOver.withLock { $0 = true }
    await withCheckedContinuation { done in
      Thread.detachNewThread {
        produced.wait()
        done.resume()
      }
    }
    let process = try stage.start()
    try await stage.waitUntilCaughtUp(process)
    let second = try await stage.magpie("archive", "run", "--http-port", "0")
    #expect(second.status == 69 && second.error.contains("one writer at a time"))
    #expect(process.terminate() == .exited(0), "\(stage.log)")

    let verified = try await stage.magpie("archive", "verify")
    #expect(verified.status == 0, "\(verified.output)")
    let kafka = try stage.kafka
    // Otherwise the comparison would miss records that Kafka has deleted.
    try #require(kafka.spans(of: stage.topics).values.allSatisfy { $0.lowerBound == 0 })
    let expected = try ArchiveStage.everything(kafka, stage.topics)
    #expect(expected.values.reduce(0) { $0 + $1.count } > 1_000)
    let archive = ArchiveLog(try stage.storage)
    #expect(try ArchiveStage.everything(archive, stage.topics) == expected)
  }
}
