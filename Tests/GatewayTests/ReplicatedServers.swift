import EmbeddedStack
import Foundation
import Postgres
import Schema

/// A PostgreSQL server with the schema, and its streaming replica.
struct ReplicatedServers {
  let primary: PrivateCluster
  let replica: PrivateCluster

  init() throws {
    let directory = "/tmp/magpie-gateway-postgres-\(UUID().uuidString.prefix(8))"
    primary = try PrivateCluster.start(
      directory: directory, durable: false,
      settings: [
        "wal_level": "replica", "max_wal_senders": "4", "shared_buffers": "64MB",
        // Or the replica would be behind by what the server has not written yet.
        "synchronous_commit": "on",
      ])
    let connection = try Connection(primary.url(), applicationName: "test")
    defer { connection.close() }
    try Migrations.apply(connection)
    do {
      replica = try primary.startReplica(directory: directory + "-replica")
    } catch {
      primary.stop()
      throw error
    }
  }

  func stop() {
    for cluster in [replica, primary] {
      cluster.stop()
      try? FileManager.default.removeItem(atPath: cluster.directory)
    }
  }
}
