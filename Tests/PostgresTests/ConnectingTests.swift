import EmbeddedStack
import Foundation
import Postgres
import TestSupport
import Testing

@Suite struct ConnectingTests {
  private let password = "s3cret/w@rd:%#?"

  private func refusal(_ url: String, seconds: Int = 10) -> PostgresError? {
    #expect(throws: PostgresError.self) {
      try Connection(url, applicationName: "postgres tests", connectTimeoutSeconds: seconds)
    }
  }

  @Test("sessions use UTC and UTF-8 and have an application name and a statement timeout")
  func sessionSettings() throws {
    let url = try TestDatabase.empty()
    let connection = try Connection(url, applicationName: "a worker", statementTimeoutSeconds: 7)
    let row = try connection.query(
      """
      SELECT current_setting('TimeZone'), current_setting('client_encoding'),
        current_setting('application_name'), current_setting('statement_timeout'), pg_backend_pid()
      """
    ).only
    #expect(try (0..<4).map { try row.text($0) } == ["UTC", "UTF8", "a worker", "7s"])
    #expect(try row.int(4) == Int(connection.backendProcessID))
  }

  @Test("transactions are READ COMMITTED, whatever the server's default is")
  func isolation() throws {
    let url =
      try TestDatabase.empty()
      + #" options='-c default_transaction_isolation=repeatable\\ read'"#
    let connection = try Connection(url, applicationName: "postgres tests")
    #expect(
      try connection.query("SHOW transaction_isolation").only.text(0) == "read committed")
  }

  @Test("a statement timeout of the URL is respected")
  func timeoutOfTheURL() throws {
    let url = try TestDatabase.empty() + " options='-c statement_timeout=50ms'"
    let connection = try Connection(url, applicationName: "postgres tests")
    let error = #expect(throws: PostgresError.self) {
      try connection.query("SELECT pg_sleep(\(hangLimitSeconds))")
    }
    #expect(error?.sqlstate == "57014")
    #expect(error?.isConnectionLost == false)
    #expect(try connection.query("SELECT 1").only.int(0) == 1)
  }

  @Test("the error for an unknown database has its name and a hint")
  func unknownDatabase() throws {
    let url = try ConnectionInfo(TestDatabase.empty()).replacing(database: "no_such")
      .connectionString
    let error = refusal(url)
    #expect(error?.sqlstate == "3D000")
    #expect(error?.code == .connection)
    #expect(error?.description.contains("no_such") == true)
    #expect(error?.hint?.contains("database name") == true)
  }

  @Test("the error for an unreachable server has the address")
  func unreachable() throws {
    for (url, word) in [
      ("postgresql://u:pw-\(password.count)x@no-such-host.invalid/db", "no-such-host.invalid"),
      ("postgresql://u:hidden@127.0.0.1:1/db", "127.0.0.1"),
      ("host=/no/such/directory dbname=x", "/no/such/directory"),
    ] {
      let error = refusal(url)
      #expect(error?.sqlstate == "08001")
      #expect(error?.description.contains(word) == true)
      #expect(error?.description.contains("hidden") == false)
      #expect(error?.hint?.contains("host and port") == true)
    }
  }

  /// Listens on the loopback interface and never answers.
  private func silentListener() -> (descriptor: Int32, port: UInt16) {
    #if canImport(Glibc)
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let listener = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let port = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size)
        listen(listener, 4)
        getsockname(listener, $0, &size)
      }
      return UInt16(bigEndian: pointer.pointee.sin_port)
    }
    return (listener, port)
  }

  @Test("connecting to a silent server times out")
  func silentServer() {
    let silent = silentListener()
    defer { close(silent.descriptor) }
    let error = refusal("postgresql://u:hidden@127.0.0.1:\(silent.port)/db", seconds: 1)
    #expect(error?.description.contains("no answer in time") == true)
  }

  @Test("the timeout of the URL takes precedence")
  func timeoutForConnectingOfTheURL() {
    let silent = silentListener()
    defer { close(silent.descriptor) }
    let url = "postgresql://u@127.0.0.1:\(silent.port)/db?connect_timeout=1"
    let error = refusal(url, seconds: Int(hangLimitSeconds))
    #expect(error?.description.contains("no answer in time") == true)
  }

  @Test("a host that does not answer, or refuses connections, is left for the next one")
  func nextHost() throws {
    let silent = silentListener()
    defer { close(silent.descriptor) }
    let url = try TestDatabase.empty()
    let info = try ConnectionInfo(url)
    let hosts = "127.0.0.1,127.0.0.1,\(info["host"] ?? "")"
    let ports = "\(silent.port),1,\(info["port"] ?? "")"
    let connection = try Connection(
      url + " host='\(hosts)' port='\(ports)'", applicationName: "postgres tests",
      connectTimeoutSeconds: 1)
    #expect(try connection.query("SELECT 1").only.int(0) == 1)
    let error = refusal("host=127.0.0.1,localhost port=\(silent.port),1 dbname=d", seconds: 1)
    #expect(error?.message.contains("no answer in time") == true)
    #expect(error?.message.contains("port 1") == true, "the error names all hosts")
  }

  @Test("a server that rejects the login ends the search for a host")
  func rejection() throws {
    let url = try ConnectionInfo(TestDatabase.empty()).replacing(database: "no_such")
    let hosts = "\(url["host"] ?? ""),127.0.0.1"
    let error = refusal(url.connectionString + " host='\(hosts)' port='\(url["port"] ?? ""),1'")
    #expect(error?.sqlstate == "3D000")
  }

  @Test("of a primary and a standby, target_session_attrs chooses; only the primary accepts writes")
  func roles() async throws {
    let paths = (0..<2).map { _ in "/tmp/magpie-roles-\(UUID().uuidString.prefix(8))" }
    defer { for path in paths { try? FileManager.default.removeItem(atPath: path) } }
    let primary = try PrivateCluster.start(directory: paths[0], durable: true)
    defer { primary.stop() }
    let standby = try primary.startReplica(directory: paths[1])
    defer { standby.stop() }
    let (first, second) = try (ConnectionInfo(primary.url()), ConnectionInfo(standby.url()))
    func connect(_ hosts: [ConnectionInfo], _ role: String) throws -> Connection {
      func list(_ keyword: String) -> String {
        hosts.map { $0[keyword] ?? "" }.joined(separator: ",")
      }
      return try Connection(
        first.connectionString
          + " host='\(list("host"))' port='\(list("port"))' target_session_attrs='\(role)'",
        applicationName: "postgres tests")
    }
    #expect(try connect([second, first], "any").isReadOnly())
    #expect(try !connect([second, first], "read-write").isReadOnly())
    #expect(try connect([first, second], "prefer-standby").isReadOnly())
    #expect(try !connect([first, first], "prefer-standby").isReadOnly())
    #expect(throws: PostgresError.self) { try connect([second, second], "primary") }
    let session = try connect([first], "any")
    try session.script("SET default_transaction_read_only = on")
    #expect(try session.isReadOnly())
    let promoted = try connect([second], "any")
    #expect(try promoted.isReadOnly())
    try promoted.query("SELECT pg_promote()")
    try await eventually("the standby is promoted") { try !promoted.isReadOnly() }
  }

  @Test("the error for a wrong password does not contain it; the right one works")
  func wrongPassword() async throws {
    let cluster = try PrivateCluster.temporary()
    defer { cluster.stop() }
    let admin = try Connection(cluster.url(), applicationName: "admin")
    try admin.script("CREATE ROLE guarded LOGIN PASSWORD '\(password)'")
    let rules = "local all guarded scram-sha-256\nlocal all all trust\n"
    try rules.write(
      toFile: cluster.directory + "/data/pg_hba.conf", atomically: false, encoding: .utf8)
    try admin.query("SELECT pg_reload_conf()")
    let allowed = CharacterSet.alphanumerics
    func url(_ password: String) throws -> String {
      let encoded = try #require(password.addingPercentEncoding(withAllowedCharacters: allowed))
      return cluster.url().replacing("postgresql:///", with: "postgresql://guarded:\(encoded)@/")
        .replacing("&user=magpie", with: "")
    }
    let wrong = password + "x"
    try await eventually("the new rules") {
      (try? Connection(url(wrong), applicationName: "t")) == nil
    }
    let error = refusal(try url(wrong))
    #expect(error?.sqlstate == "28P01")
    #expect(error?.hint?.contains("password") == true)
    #expect(refusal(try url(""))?.sqlstate == "28P01", "a missing password counts as wrong")
    #expect(error?.description.contains("s3cret") == false)
    #expect(try !"\(ConnectionInfo(url(wrong)))".contains("s3cret"))
    _ = try Connection(url(password), applicationName: "postgres tests")
  }

  @Test(
    "the error for an unparsable URL does not contain the password",
    arguments: [
      "postgresql://user:hidden@tail@host/db", "postgresql://user:hidden/tail@host/db",
      "postgresql://user:12/hidden@host/db", "postgresql://user:hidden%zz@host/db",
      "postgres//user:hidden@host/db", "host=h password=hidden word", "host=h hidden",
      "postgresql://user:hidden@host/db?nonsense=hidden", "mysql://user:hidden@host/db",
      "host=h password='hidden", "postgresql://user:hidden@[::1/db",
    ])
  func unparsable(url: String) {
    let error = refusal(url)
    #expect(error?.code == .usage)
    #expect(error?.description.contains("hidden") == false)
    #expect(error?.description.contains("tail") == false)
    #expect(error?.message.contains("percent-encoded") == true)
  }

  @Test("one connection too many is rejected with 53300 and a hint")
  func connectionLimit() throws {
    let url = try TestDatabase.empty()
    let name = try #require(try ConnectionInfo(url)["dbname"])
    let admin = try Connection(url, applicationName: "admin")
    // The limit does not apply to superusers.
    let role = "\(name)_limited"
    try admin.script("CREATE ROLE \(role) LOGIN CONNECTION LIMIT 1")
    defer { try? admin.script("DROP ROLE \(role)") }
    let limited = url + " user='\(role)'"
    let first = try Connection(limited, applicationName: "first")
    let error = refusal(limited)
    #expect(error?.sqlstate == "53300")
    #expect(error?.hint?.contains("max_connections") == true)
    first.close()
    first.close()
    #expect(first.status == .closed)
  }
}
