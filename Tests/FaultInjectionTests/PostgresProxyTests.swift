import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import FaultInjection

@Suite struct PostgresProxyTests {
  @Test("sliced and delayed data arrives unchanged", arguments: [0, 1, 7])
  func slices(bytes: Int) throws {
    let proxy = try PostgresProxy(to: TestDatabase.fresh())
    defer { proxy.close() }
    proxy.conditions.sliceBytes = bytes
    proxy.conditions.delayMilliseconds = 20
    let started = ContinuousClock.now
    let connection = try Connection(proxy.url, applicationName: "test")
    let text = String(repeating: "까치", count: 1000)
    #expect(try connection.query("SELECT $1::text", [.text(text)]).only.text(0) == text)
    #expect(.now - started > .milliseconds(40))
  }

  @Test("a COMMIT or its response is lost, whether prepared or not", arguments: [0, 256])
  func commits(prepared: Int) throws {
    let url = try TestDatabase.fresh()
    let fault = Mutex(PostgresProxy.Fault.none)
    let proxy = try PostgresProxy(to: url) { fault.withLock { $0 } }
    defer { proxy.close() }
    let direct = try Connection(url, applicationName: "test")
    try direct.script("CREATE TABLE t (x int)")
    for next in [PostgresProxy.Fault.none, .dropBeforeCommit, .dropAfterCommit] {
      let connection = try Connection(
        proxy.url, applicationName: "test", preparedStatementLimit: prepared)
      fault.withLock { $0 = .none }
      for _ in 0..<2 { try connection.transaction { _ = try connection.query("SELECT 1") } }
      fault.withLock { $0 = next }
      func commit() throws {
        try connection.transaction { _ = try connection.query("INSERT INTO t VALUES (1)") }
      }
      if next == .none {
        try commit()
      } else {
        let error = try #require(throws: PostgresError.self) { try commit() }
        #expect(error.isConnectionLost)
      }
    }
    #expect(try direct.query("SELECT count(*) FROM t").only.int(0) == 2)
    #expect(proxy.commits(meeting: .dropBeforeCommit) == 1)
    #expect(proxy.commits(meeting: .dropAfterCommit) == 1)
  }

  @Test("COMMIT as a simple query is detected too, but not in a long message that mentions it")
  func simpleQueries() throws {
    let proxy = try PostgresProxy(to: TestDatabase.fresh()) { .dropBeforeCommit }
    defer { proxy.close() }
    let connection = try Connection(proxy.url, applicationName: "test")
    let text = String(repeating: "COMMIT\0", count: 100_000).replacing("\0", with: " ")
    #expect(try connection.query("SELECT $1::text", [.text(text)]).only.text(0) == text)
    try connection.script("BEGIN")
    #expect(throws: PostgresError.self) { try connection.script("COMMIT") }
  }

  @Test("silence holds back everything, including new connections, until it ends")
  func silence() throws {
    let proxy = try PostgresProxy(to: TestDatabase.fresh())
    defer { proxy.close() }
    proxy.conditions.isSilent = true
    #expect(throws: PostgresError.self) {
      try Connection(proxy.url, applicationName: "test", connectTimeoutSeconds: 1)
    }
    proxy.conditions.isSilent = false
    let connection = try Connection(proxy.url, applicationName: "test")
    #expect(try connection.query("SELECT 1").only.int(0) == 1)
  }

  @Test("clients see ends and resets as such, and can reconnect")
  func ends() throws {
    let proxy = try PostgresProxy(to: TestDatabase.fresh())
    let (first, second) = try (peer(of: proxy), peer(of: proxy))
    defer { for descriptor in [first, second] { close(descriptor) } }
    try waitUntilConnected(proxy, 2)
    var byte: UInt8 = 0
    proxy.breakAll()
    #expect(recv(first, &byte, 1, 0) == 0)
    #expect(recv(second, &byte, 1, 0) == 0)
    // Wait until the proxy has removed both, or a leftover would be mistaken for the next.
    try waitUntilConnected(proxy, 0)
    let again = try peer(of: proxy)
    defer { close(again) }
    try waitUntilConnected(proxy, 1)
    proxy.reset()
    #expect(recv(again, &byte, 1, 0) == -1)
    #expect(errno == ECONNRESET)
    let connection = try Connection(proxy.url, applicationName: "test")
    try connection.query("SELECT 1")
    proxy.close()
    #expect(throws: PostgresError.self) { try Connection(proxy.url, applicationName: "test") }
  }

  /// A bare socket, because libpq does not distinguish an end from a reset.
  private func peer(of proxy: PostgresProxy) throws -> Int32 {
    let port = try #require(ConnectionInfo(proxy.url)["port"])
    return try #require(ServerAddress.tcp(host: "127.0.0.1", port: port).connected())
  }

  private func waitUntilConnected(_ proxy: PostgresProxy, _ count: Int) throws {
    try block(until: "\(count) connections") { proxy.connections == count }
  }
}
