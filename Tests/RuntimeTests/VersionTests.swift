import EmbeddedStack
import Foundation
import Handling
import Postgres
import Schema
import Synchronization
import Testing

@testable import Lanes

@Suite struct VersionTests {
  @Test(
    "versions that were published and not committed are not drawn again after a crash",
    arguments: ["on", "off"])
  func crashes(synchronousCommit: String) throws {
    let path = NSTemporaryDirectory() + "magpie-versions-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: path) }
    // The log is flushed by commits only, as far as possible.
    let cluster = try PrivateCluster.start(
      directory: path, durable: true,
      settings: ["synchronous_commit": synchronousCommit, "wal_writer_delay": "10s"])
    defer { cluster.stop() }
    try Migrations.apply(try Connection(cluster.url(), applicationName: "test"))
    let published = Mutex<[Int64]>([])
    var attempt = Work()
    let drawn = attempt.add(Statement("SELECT nextval('notification_counter')"))
    attempt.finish = { results in
      let version = try results[drawn].only.int8(0)
      published.withLock { $0.append(version) }
      throw Dies()
    }
    var handler = Handler(name: "notification", topics: [], apply: { _, _ in Work() })
    handler.versionSequence = "notification_counter"
    let store = BatchStore(
      handler: handler, consumerGroup: "test",
      open: { try Connection(cluster.url(), applicationName: "test") }, deliver: { _, _ in })
    defer { store.close() }
    for _ in 0..<4 {
      for _ in 0..<Int.random(in: 1...100) {
        #expect(throws: Dies.self) { try store.runBacklog(attempt) }
      }
      cluster.immediateStop()
      try cluster.restart()
      #expect(throws: PostgresError.self) { try store.runBacklog(attempt) }
    }
    let versions = published.withLock { $0 }
    #expect(versions.count >= 4)
    #expect(zip(versions, versions.dropFirst()).allSatisfy { $0 < $1 })
  }
}

private struct Dies: Error {}
