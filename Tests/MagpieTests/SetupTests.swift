import EmbeddedStack
import Events
import Foundation
import Postgres
import TestSupport
import Testing

@Suite("magpie setup and healthcheck")
struct SetupTests {
  // Logins are global to the server, so this test needs a private one.
  @Test(
    "setup creates schema, logins and topics, and is idempotent",
    .enabled(if: !TestDatabase.isExternal))
  func setup() async throws {
    let database = try TestDatabase.empty()
    let prefix = TestBroker.topicPrefix()
    try TestBroker.shared.createTopics(prefix: prefix, partitions: 3)
    let magpie = Tool(environment: [
      "MAGPIE_DATABASE_URL": database, "MAGPIE_KAFKA_BOOTSTRAP": try TestBroker.shared.bootstrap,
      "MAGPIE_TOPIC_PREFIX": prefix, "MAGPIE_FANOUT_PASSWORD": "a 'quoted' password, ü",
      "MAGPIE_READER_PASSWORD": "another", "MAGPIE_OPERATOR_PASSWORD": "a third",
    ])
    for _ in 0..<2 {
      let result = try await magpie("setup", "--partitions", "3")
      #expect(result.status == 0, "\(result.error)")
      #expect(result.output.contains("login fanout_worker, a member of magpie_fanout"))
      #expect(!result.output.contains("quoted"))
    }
    let logins = try Connection(database, applicationName: "test").query(
      """
      SELECT rolname::text, rolpassword LIKE 'SCRAM-SHA-256$%',
        pg_has_role(rolname, 'magpie_fanout', 'MEMBER'), pg_has_role(rolname, 'magpie_reader', 'MEMBER')
      FROM pg_authid
      WHERE rolname IN ('fanout_worker', 'notification_worker', 'alarm_worker', 'reminder_worker', 'push_worker',
        'magpie_backend', 'magpie_operator')
      ORDER BY 1
      """)
    let found = try logins.map {
      "\(try $0.text(0)) \(try $0.bool(1)) \(try $0.bool(2)) \(try $0.bool(3))"
    }
    #expect(
      found == [
        "fanout_worker true true false", "magpie_backend true false true",
        "magpie_operator true true true",
      ])

    let refused = try await magpie("setup", "--partitions", "4")
    #expect(refused.status == 1)
    #expect(refused.error.contains("has 3"))
  }

  @Test("a locale with which search knows ASCII letters only is warned of, with what to do")
  func locale() async throws {
    let poor = try await Tool(environment: [
      "MAGPIE_DATABASE_URL": try TestDatabase.empty(characters: "C")
    ])("migrate")
    #expect(poor.status == 0 && poor.output.contains("applied "), "\(poor.error)")
    #expect(poor.error.contains("LC_CTYPE is C") && poor.error.contains("LC_CTYPE 'C.UTF-8'"))
    let sufficient = try await Tool(environment: [
      "MAGPIE_DATABASE_URL": try TestDatabase.fresh()
    ])("migrate")
    #expect(sufficient.status == 0 && !sufficient.error.contains("LC_CTYPE"))
  }

  @Test("healthcheck reports whether a worker can commit, and separately whether it is alive")
  func healthcheck() async throws {
    let log = NSTemporaryDirectory() + "magpie-health-\(UUID().uuidString).log"
    defer { try? FileManager.default.removeItem(atPath: log) }
    let worker = try ChildProcess(
      builtExecutable("fanout-worker"), ["--http-port", "0"],
      environment: [
        "MAGPIE_DATABASE_URL": "postgresql://127.0.0.1:1/nowhere",
        "MAGPIE_KAFKA_BOOTSTRAP": try TestBroker.shared.bootstrap,
      ], output: .file(log))
    defer { worker.terminate(9) }
    var port = ""
    try await eventually("the port is logged") {
      let text = try String(contentsOfFile: log, encoding: .utf8)
      let match = text.firstMatch(of: /serving[^\n]*:([0-9]+)\b/)
      port = match.map { String($0.1) } ?? ""
      return !port.isEmpty
    }
    let magpie = Tool(environment: ["MAGPIE_HTTP_PORT": port])
    try await eventually("it says what it waits for") {
      let ready = try await magpie("healthcheck")
      #expect(ready.status == 1)
      return ready.output == "1 of 1 lanes cannot commit\nwaiting for: connection\n"
    }
    let live = try await magpie("healthcheck", "--live")
    #expect(live.status == 0)
    #expect(live.output == "ok\n")

    let nobody = try await magpie("healthcheck", "--port", "1")
    #expect(nobody.status == 69)
    #expect(nobody.error.contains("127.0.0.1:1"))
    let unknown = try await Tool()("healthcheck")
    #expect(unknown.status == 64)
    #expect(unknown.error.contains("MAGPIE_HTTP_PORT"))
  }
}
