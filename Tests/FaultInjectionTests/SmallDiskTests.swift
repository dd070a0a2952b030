import EmbeddedStack
import FaultInjection
import Foundation
import Postgres
import Testing

@Suite struct SmallDiskTests {
  @Test("a full disk stops PostgreSQL's writes until space is freed")
  func fullDisk() throws {
    guard let disk = try? SmallDisk(bytes: 192 << 20) else {
      print("skipped: mounting is not possible here")
      return
    }
    defer { disk.close() }
    let cluster = try PrivateCluster.start(
      directory: disk.path + "/postgres", durable: true,
      settings: ["shared_buffers": "16MB", "max_wal_size": "64MB", "min_wal_size": "32MB"])
    defer { cluster.stop() }
    #expect(cluster.directory.hasPrefix(disk.path))
    let connection = try Connection(cluster.url(), applicationName: "test")
    try connection.script("CREATE TABLE t (x text)")
    let insert = "INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 2000)"
    try connection.query(insert)
    try disk.fill()
    // Either the table or, with a crash, the WAL cannot grow.
    #expect(throws: PostgresError.self) { for _ in 0..<100 { try connection.query(insert) } }
    disk.free()
    if cluster.processID == nil { try cluster.restart() }
    let again = try Connection(cluster.url(), applicationName: "test")
    try again.query(insert)
    #expect(try again.query("SELECT count(*) % 2000 FROM t").only.int(0) == 0)
  }

  @Test("closing unmounts it")
  func unmounts() throws {
    guard let disk = try? SmallDisk(bytes: 1 << 20) else { return }
    try disk.fill()
    #expect(throws: (any Error).self) {
      try Data(count: 1).write(to: URL(filePath: disk.path + "/more"))
    }
    disk.close()
    #expect(!FileManager.default.fileExists(atPath: disk.path))
  }
}
