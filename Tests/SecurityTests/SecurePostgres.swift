import EmbeddedStack
import Foundation
import Postgres
import Schema
import TestSupport

/// A PostgreSQL with TLS on a port of 127.0.0.1 that requires SCRAM-SHA-256 or a certificate, with
/// Magpie's schema and the workers' logins as in docs/deploy.md.
final class SecurePostgres {
  static let password = "s3cret/w@rd:%#? 'x"

  let cluster: PrivateCluster
  let port: Int
  let certificates: Certificates
  let admin: Connection

  init() throws {
    let (listener, port) = try listenOnLoopback()
    Foundation.close(listener)
    self.port = port
    certificates = try Certificates()
    cluster = try PrivateCluster.temporary(
      settings: ["listen_addresses": "127.0.0.1", "port": "\(port)"])
    try cluster.createDatabase("magpie")
    admin = try Connection(cluster.url(database: "magpie"), applicationName: "admin")
    try Migrations.apply(admin)
    let verifier = try admin.encrypted(password: Self.password, user: "fanout_worker")
    try admin.script(
      """
      CREATE ROLE fanout_worker LOGIN PASSWORD '\(verifier)' IN ROLE magpie_fanout;
      CREATE ROLE certified_worker LOGIN IN ROLE magpie_fanout;
      """)
    try """
    local all all trust
    hostssl all certified_worker 127.0.0.1/32 cert
    hostssl all all 127.0.0.1/32 scram-sha-256
    """.write(
      toFile: cluster.directory + "/data/pg_hba.conf", atomically: false, encoding: .utf8)
    try install(certificates.authority, as: "ca.crt")
    try set("ssl_ca_file", "ca.crt")
  }

  func stop() {
    admin.close()
    cluster.stop()
  }

  /// Changes the server's certificate, or disables TLS, for new connections.
  func show(_ pair: Certificates.Pair?) async throws {
    if let pair {
      let name = URL(filePath: pair.certificate).deletingPathExtension().lastPathComponent
      try install(pair.certificate, as: "\(name).crt")
      try install(pair.key, as: "\(name).key")
      try set("ssl_cert_file", "\(name).crt")
      try set("ssl_key_file", "\(name).key")
    }
    try set("ssl", pair == nil ? "off" : "on")
    let expected = pair.map { URL(filePath: $0.certificate).lastPathComponent }
    try await eventually("the server has reloaded its settings") {
      let row = try Connection(cluster.url(), applicationName: "t").query(
        "SELECT current_setting('ssl'), current_setting('ssl_cert_file')"
      ).only
      let isOn = try row.text(0) == "on"
      return try isOn == (pair != nil) && (expected == nil || row.text(1) == expected)
    }
  }

  /// - Parameter authority: nil for the signing authority; only host names of `localhost` are
  ///   valid.
  func url(
    user: String = "fanout_worker", mode: String = "verify-full", authority: String? = nil,
    and more: String = ""
  ) -> String {
    "postgresql://\(user)@localhost:\(port)/magpie?hostaddr=127.0.0.1&sslmode=\(mode)"
      + "&sslrootcert=\(authority ?? certificates.authority)\(more)"
  }

  private func set(_ name: String, _ value: String) throws {
    try admin.query("ALTER SYSTEM SET \(name) = '\(value)'")
    try admin.query("SELECT pg_reload_conf()")
  }

  /// Installs a file that only the server's account can read.
  private func install(_ file: String, as name: String) throws {
    let data = cluster.directory + "/data"
    let target = "\(data)/\(name)"
    try? FileManager.default.removeItem(atPath: target)
    try FileManager.default.copyItem(atPath: file, toPath: target)
    let owner = try FileManager.default.attributesOfItem(atPath: data)
    try FileManager.default.setAttributes(
      [
        .posixPermissions: 0o600,
        .ownerAccountID: owner[.ownerAccountID] ?? 0,
        .groupOwnerAccountID: owner[.groupOwnerAccountID] ?? 0,
      ], ofItemAtPath: target)
  }
}
