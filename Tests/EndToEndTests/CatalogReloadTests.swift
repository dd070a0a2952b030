import EmbeddedStack
import Foundation
import Synchronization
import TestSupport
import Testing

/// The alarm-worker as a process, with an operator's catalogs.
@Suite(.serialized) struct CatalogReloadTests {
  @Test(
    "SIGHUP reloads the catalogs; if one is broken, that is logged and the old ones remain in use")
  func reload() async throws {
    let stack = try Stack(partitions: 2)
    defer { stack.stop() }
    let catalog = stack.directory.appending(path: "catalogs/en.arb")
    try FileManager.default.createDirectory(
      at: catalog.deletingLastPathComponent(), withIntermediateDirectories: true)
    try write("{actor} first", to: catalog)
    // SIGHUP must not end a worker without a catalog directory either.
    let other = try stack.start("notification-worker")
    let worker = try stack.start(
      "alarm-worker", arguments: ["--catalog-dir", catalog.deletingLastPathComponent().path])
    try await like("a", stack, reads: "Someone first")

    try write("{actor second", to: catalog)
    worker.signal(SIGHUP)
    other.signal(SIGHUP)
    try await eventually("the failure is logged") {
      stack.log(of: "alarm-worker").contains("reload failed")
    }
    let log = stack.log(of: "alarm-worker")
    #expect(log.contains("\(catalog.path):1:"), "\(log)")
    #expect(log.contains("like (character "), "\(log)")
    try await like("b", stack, reads: "Someone first")
    try await eventually("the other worker logs it") {
      stack.log(of: "notification-worker").contains("SIGHUP")
    }

    try write("{actor} third", to: catalog)
    worker.signal(SIGHUP)
    try await eventually("the reload is logged") {
      stack.log(of: "alarm-worker").contains("reloaded the catalogs")
    }
    try await like("c", stack, reads: "Someone third")
    #expect(try text(of: "a", stack) == "Someone first")
    // The statement in docs/sql.md.
    try stack.connection().query(
      """
      INSERT INTO pending_renders (user_id, part)
      SELECT DISTINCT recipient, 'recipient' FROM alarms WHERE NOT retracted
      ON CONFLICT (user_id, part) DO UPDATE SET below_time = DEFAULT, below_id = DEFAULT
      """)
    try await eventually("everything is rendered again") {
      try text(of: "a", stack) == "Someone third" && text(of: "b", stack) == "Someone third"
    }
    #expect(worker.isRunning && other.isRunning)
  }

  @Test("a worker with a broken catalog does not start and reports file, key and position")
  func brokenAtStart() async throws {
    let directory = URL(filePath: NSTemporaryDirectory() + "magpie-catalogs-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    try write("{actor} {nobody}", to: directory.appending(path: "en.arb"))
    let output = Mutex("")
    let worker = try ChildProcess(
      builtExecutable("alarm-worker"), [], environment: ["MAGPIE_CATALOG_DIR": directory.path],
      output: .lines { line in output.withLock { $0 += line + "\n" } })
    #expect(worker.wait(seconds: hangLimitSeconds) == .exited(64))
    // The lines may be read after the process has ended.
    try await eventually("the error names the file, the position and the key") {
      let said = output.withLock { $0 }
      return said.contains("\(directory.path)/en.arb:1:") && said.contains("like")
    }
  }

  private func write(_ like: String, to file: URL) throws {
    try Data(#"{"like": "\#(like)"}"#.utf8).write(to: file)
  }

  /// Publishes a like and checks the text of the post owner's alarm.
  private func like(_ owner: String, _ stack: Stack, reads expected: String) async throws {
    let published = try stack.magpie(
      "publish", "like", "--actor", "mina", "--post", "post-\(owner)", "--owner", owner)
    #expect(published.exit == .exited(0), "\(published.output)")
    try await eventually("\(owner) has an alarm\n\(stack.logTails)") {
      try text(of: owner, stack) != nil
    }
    #expect(try text(of: owner, stack) == expected)
  }

  private func text(of owner: String, _ stack: Stack) throws -> String? {
    try stack.connection().query(
      "SELECT text FROM alarms WHERE recipient = $1", [.text(owner)]
    ).first?.textOrNil(0)
  }
}
