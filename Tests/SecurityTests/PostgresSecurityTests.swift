import EmbeddedStack
import Foundation
import Postgres
import TestSupport
import Testing

/// TLS and SCRAM between workers, the tool and a real PostgreSQL.
@Suite struct PostgresSecurityTests {
  private struct Refusal {
    var what: String
    var url: String
    var password = SecurePostgres.password
    /// Expected parts of the message.
    var says: [String]
  }

  @Test("workers and tool connect with verify-full and SCRAM, and with a client certificate")
  func accepted() async throws {
    let server = try SecurePostgres()
    defer { server.stop() }
    try await server.show(server.certificates.issue("server", names: "DNS:localhost"))
    let own = try server.certificates.issue(
      "client", names: "DNS:worker", commonName: "certified_worker")
    let urls = [
      server.url(),
      server.url(
        user: "certified_worker", and: "&sslcert=\(own.certificate)&sslkey=\(own.key)"),
    ]
    let method = try server.admin.query(
      "SELECT rolpassword LIKE 'SCRAM-SHA-256$%' FROM pg_authid WHERE rolname = 'fanout_worker'")
    #expect(try method.only.bool(0))
    for url in urls {
      let environment = try environment(server, url)
      let worker = try Running("fanout-worker", [], environment)
      try await eventually("the worker has its partitions") {
        worker.output.contains("assigned")
      }
      let sessions = try server.admin.query(
        """
        SELECT s.ssl, s.version FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
        WHERE a.usename IN ('fanout_worker', 'certified_worker')
        """)
      #expect(sessions.count == 1)
      #expect(try sessions.allSatisfy { try $0.bool(0) && $0.text(1).hasPrefix("TLSv1.") })
      let shown = try run("magpie", ["offsets", "show"], environment)
      #expect(shown.exit == .exited(0), "\(shown.output)")
      worker.child.signal(SIGTERM)
      #expect(worker.end() == .exited(0), "\(worker.output)")
      #expect(!worker.output.contains("s3cret"))
    }
  }

  @Test("misconfigurations are refused with cause and next step, and without the password")
  func refused() async throws {
    let server = try SecurePostgres()
    defer { server.stop() }
    let (own, others) = (server.certificates, try Certificates())
    try await server.show(own.issue("server", names: "DNS:localhost"))
    try check(
      [
        Refusal(
          what: "another authority", url: server.url(authority: others.authority),
          says: ["certificate verify failed", "sslrootcert"]),
        Refusal(
          what: "no file with the authority", url: server.url(authority: "/nowhere/ca.crt"),
          says: ["/nowhere/ca.crt", "sslrootcert"]),
        Refusal(
          what: "no TLS where the server wants it", url: server.url(mode: "disable"),
          says: ["no encryption", "sslmode=verify-full"]),
        Refusal(
          what: "a wrong password", url: server.url(), password: "wr0ng-guess",
          says: ["password authentication failed", "MAGPIE_DATABASE_URL"]),
        Refusal(
          what: "a login without its certificate", url: server.url(user: "certified_worker"),
          says: ["client certificate", "sslcert"]),
      ], server)
    try await server.show(own.issue("elsewhere", names: "DNS:elsewhere.example"))
    try check(
      [
        Refusal(
          what: "another host's certificate", url: server.url(),
          says: ["does not match host name", "a name in the server's certificate"])
      ], server)
    try await server.show(own.issue("expired", names: "DNS:localhost", days: -1))
    try check(
      [
        Refusal(
          what: "an expired certificate", url: server.url(),
          says: ["certificate verify failed", "has expired"])
      ], server)
    try await server.show(nil)
    try check(
      [
        Refusal(
          what: "a server without TLS", url: server.url(),
          says: ["does not support SSL", "turn on ssl in the server"])
      ], server)
  }

  @Test("a worker's login cannot assume another worker's role")
  func otherRole() async throws {
    let server = try SecurePostgres()
    defer { server.stop() }
    try await server.show(server.certificates.issue("server", names: "DNS:localhost"))
    let worker = try Running("alarm-worker", [], try environment(server, server.url()))
    #expect(worker.end() == .exited(1))
    #expect(worker.output.contains("permission denied to set role"), "\(worker.output)")
    #expect(worker.output.contains("Grant the login its worker's role"))
  }

  private func check(_ refusals: [Refusal], _ server: SecurePostgres) throws {
    for refusal in refusals {
      let environment = try environment(server, refusal.url, refusal.password)
      let worker = try run("fanout-worker", ["--log-level", "trace"], environment)
      #expect(worker.exit == .exited(1), "\(refusal.what): \(worker.output)")
      let tool = try run("magpie", ["offsets", "show"], environment)
      #expect(tool.exit == .exited(69), "\(refusal.what): \(tool.output)")
      for output in [worker.output, tool.output] {
        for words in refusal.says {
          #expect(output.contains(words), "\(refusal.what): \(output)")
        }
        #expect(!output.contains("s3cret") && !output.contains("wr0ng"), "\(refusal.what)")
      }
    }
  }

  private func environment(
    _ server: SecurePostgres, _ url: String, _ password: String = SecurePostgres.password
  ) throws -> [String: String] {
    let file = server.certificates.path("password-\(UUID().uuidString)")
    try (password + "\n").write(toFile: file, atomically: false, encoding: .utf8)
    let prefix = TestBroker.topicPrefix()
    try TestBroker.shared.createTopics(prefix: prefix, partitions: 1)
    return [
      "MAGPIE_DATABASE_URL": url, "MAGPIE_DATABASE_PASSWORD_FILE": file,
      "MAGPIE_KAFKA_BOOTSTRAP": try TestBroker.shared.bootstrap, "MAGPIE_TOPIC_PREFIX": prefix,
      "MAGPIE_HTTP_PORT": "0",
    ]
  }
}
