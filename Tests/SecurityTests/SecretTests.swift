import EmbeddedStack
import Foundation
import Postgres
import TestSupport
import Testing

/// Searches for passwords in everything that a process exposes: its output at the most verbose
/// level, its command line, its endpoints.
@Suite struct SecretTests {
  /// Contains characters that need percent-encoding in URLs and quoting elsewhere; every encoding
  /// keeps the middle part.
  private static let middle = "xyzzySentinel7"
  private static let password = "p@/\(middle):%#? 'q"

  private struct Situation {
    var name: String
    var environment: [String: String]
    /// How the worker exits by itself; nil if it runs until stopped.
    var end: ChildProcess.Exit? = nil
    /// Output that shows that it reached the relevant point.
    var says: String
  }

  private static func encoded(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
  }

  private func situations() throws -> (cluster: PrivateCluster, [Situation]) {
    let cluster = try PrivateCluster.temporary()
    let admin = try Connection(cluster.url(), applicationName: "admin")
    let quoted = Self.password.replacing("'", with: "''")
    try admin.script("CREATE ROLE guarded LOGIN PASSWORD '\(quoted)'")
    try "local all guarded scram-sha-256\nlocal all all trust\n".write(
      toFile: cluster.directory + "/data/pg_hba.conf", atomically: false, encoding: .utf8)
    try admin.query("SELECT pg_reload_conf()")
    let broker = try TestBroker.shared.bootstrap
    let prefix = TestBroker.topicPrefix()
    try TestBroker.shared.createTopics(prefix: prefix, partitions: 1)
    let file = cluster.directory + "/password"
    try Self.password.write(toFile: file, atomically: false, encoding: .utf8)
    let properties = cluster.directory + "/kafka.properties"
    try "sasl.password=\(Self.password)\nsasl.username=u\nno.such.property=1\n".write(
      toFile: properties, atomically: false, encoding: .utf8)
    let secret = Self.encoded(Self.password)
    let fresh = try TestDatabase.fresh()
    let socket = (try ConnectionInfo(cluster.url()))["host"] ?? ""
    let right = "postgresql://guarded:\(secret)@/postgres?host=\(Self.encoded(socket))"
    let base = [
      "MAGPIE_KAFKA_BOOTSTRAP": broker, "MAGPIE_TOPIC_PREFIX": prefix, "MAGPIE_HTTP_PORT": "0",
      "MAGPIE_DATABASE_URL": right, "MAGPIE_LOG_LEVEL": "trace",
    ]
    func with(_ changes: [String: String]) -> [String: String] {
      base.merging(changes) { $1 }
    }
    let fails = ChildProcess.Exit.exited(1)
    let usage = ChildProcess.Exit.exited(64)
    return (
      cluster,
      [
        Situation(
          name: "the right password, no schema", environment: base, says: "magpie migrate"),
        Situation(
          name: "a wrong password",
          environment: with(["MAGPIE_DATABASE_URL": right.replacing(secret, with: secret + "x")]),
          end: fails, says: "password authentication failed"),
        Situation(
          name: "a password in a file, and the wrong one",
          environment: with([
            "MAGPIE_DATABASE_URL": right.replacing(":\(secret)@", with: "@").replacing(
              "guarded", with: "nobody"), "MAGPIE_DATABASE_PASSWORD_FILE": file,
          ]), end: fails, says: "nobody"),
        Situation(
          name: "PGPASSWORD",
          environment: with(
            ["MAGPIE_DATABASE_URL": cluster.url(), "PGPASSWORD": Self.password]),
          says: "magpie migrate"),
        Situation(
          name: "the database is down",
          environment: with([
            "MAGPIE_DATABASE_URL": "postgresql://guarded:\(secret)@127.0.0.1:1/postgres"
          ]), says: "trying again"),
        Situation(
          name: "a URL that cannot be parsed",
          environment: with([
            "MAGPIE_DATABASE_URL": "postgresql://guarded:\(Self.password)@host/db"
          ]), end: usage, says: "percent-encoded"),
        Situation(
          name: "such a URL, and a password to put into it",
          environment: with([
            "MAGPIE_DATABASE_URL": "postgresql://guarded:\(Self.password)@host/db",
            "MAGPIE_DATABASE_PASSWORD_FILE": file,
          ]), end: usage, says: "percent-encoded"),
        Situation(
          name: "Kafka wants no login, and librdkafka logs everything",
          environment: with([
            "MAGPIE_DATABASE_URL": fresh, "MAGPIE_KAFKA_PASSWORD": Self.password,
            "MAGPIE_KAFKA_PROPERTIES":
              "security.protocol=SASL_PLAINTEXT,sasl.mechanism=PLAIN,sasl.username=u,debug=all",
          ]), says: "librdkafka"),
        Situation(
          name: "an unknown Kafka property",
          environment: with([
            "MAGPIE_DATABASE_URL": fresh, "MAGPIE_KAFKA_PROPERTIES_FILE": properties,
          ]), end: fails,
          says: "no.such.property"),
        Situation(
          name: "a Kafka password split at its comma",
          environment: with([
            "MAGPIE_DATABASE_URL": fresh,
            "MAGPIE_KAFKA_PROPERTIES": "sasl.username=u,sasl.password=a,\(Self.middle)=b",
          ]), end: fails, says: "comma"),
        Situation(
          name: "a missing file",
          environment: with(["MAGPIE_KAFKA_PASSWORD_FILE": file + ".not"]), end: usage,
          says: "cannot be read"),
      ]
    )
  }

  @Test("no password appears in a worker's output, command line, metrics or health endpoints")
  func workers() async throws {
    let (cluster, situations) = try situations()
    defer { cluster.stop() }
    for situation in situations {
      let worker = try Running("fanout-worker", [], situation.environment)
      try await eventually("\(situation.name): \(situation.says)") {
        worker.output.contains(situation.says) || !worker.child.isRunning
      }
      if worker.child.isRunning, situation.end == nil {
        let line = try String(
          contentsOfFile: "/proc/\(worker.child.processID)/cmdline", encoding: .utf8)
        #expect(!line.contains(Self.middle))
        for path in ["livez", "readyz", "metrics", "healthz", "%1b%5B31m", "../../etc/passwd"] {
          let answer = try await answer(worker, path)
          #expect(!answer.contains(Self.middle), "\(path)")
          #expect(!answer.contains("guarded") && !answer.contains("\u{1B}"), "\(path): \(answer)")
        }
        worker.child.signal(SIGTERM)
        #expect(worker.end() != nil, "\(situation.name)")
      } else {
        let exit = worker.end()
        #expect(exit == situation.end ?? .exited(1), "\(situation.name): \(worker.output)")
      }
      let output = worker.output
      #expect(output.contains(situation.says), "\(situation.name): \(output)")
      #expect(!output.contains(Self.middle), "\(situation.name): \(output)")
    }
  }

  @Test("no password appears in the tool's output")
  func tool() async throws {
    let (cluster, situations) = try situations()
    defer { cluster.stop() }
    for situation in situations {
      for arguments in [["offsets", "show"], ["lag", "--json"], ["verify"], ["migrate"]] {
        // Each failed connection to Kafka takes ten seconds.
        guard situation.name.hasPrefix("Kafka") == false || arguments == ["lag", "--json"] else {
          continue
        }
        let ran = try run("magpie", arguments, situation.environment)
        #expect(!ran.output.contains(Self.middle), "\(situation.name): \(ran.output)")
      }
    }
  }

  @Test(
    "a password on a command line is refused and not echoed",
    arguments: [
      ["--database-url", "postgresql://u:xyzzySentinel7@h/d"],
      ["--database-url", "host=h password=xyzzySentinel7"],
      ["--kafka-property", "sasl.password=xyzzySentinel7"],
      ["--kafka-property", "ssl.key.password=xyzzySentinel7"],
    ])
  func commandLines(arguments: [String]) throws {
    let environment = ["MAGPIE_KAFKA_BOOTSTRAP": "127.0.0.1:1", "MAGPIE_DATABASE_URL": "host=/no"]
    for (executable, command) in [("fanout-worker", []), ("magpie", ["lag"])] {
      let ran = try run(executable, command + arguments, environment)
      #expect(ran.exit == .exited(64), "\(ran.output)")
      #expect(ran.output.contains("refused: everybody on this machine"), "\(ran.output)")
      #expect(!ran.output.contains(Self.middle))
    }
  }

  @Test("health endpoints listen on loopback by default")
  func loopback() async throws {
    let environment = [
      "MAGPIE_KAFKA_BOOTSTRAP": "127.0.0.1:1", "MAGPIE_DATABASE_URL": "host=127.0.0.1 port=1",
      "MAGPIE_HTTP_PORT": "0",
    ]
    for (host, expected) in [(nil, "127.0.0.1"), ("0.0.0.0", "0.0.0.0")] as [(String?, String)] {
      var environment = environment
      environment["MAGPIE_HTTP_HOST"] = host
      let worker = try Running("alarm-worker", [], environment)
      // On this thread: the worker ends without a database, and a busy test process resumes a task
      // late.
      var table = ""
      try block(until: "the worker serves HTTP") {
        guard worker.output.firstMatch(of: Self.servedPort) != nil else { return false }
        // Local addresses of listening sockets, in hexadecimal: proc(5).
        let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/net/tcp"))
        table = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        return true
      }
      let port = try #require(worker.output.firstMatch(of: Self.servedPort).flatMap { Int($0.1) })
      let hexadecimal = String(port, radix: 16, uppercase: true)
      let address = expected == "127.0.0.1" ? "0100007F" : "00000000"
      let listening = table.split(separator: "\n").filter {
        $0.contains(":\(hexadecimal) ") && $0.contains(" 0A ")
      }
      #expect(listening.contains { $0.contains("\(address):\(hexadecimal) ") }, "\(listening)")
      #expect(listening.count == 1)
    }
  }

  /// In the log line of a worker that serves HTTP.
  private static var servedPort: Regex<(Substring, Substring)> { /address=\[[^\]]*\][^:]*:(\d+)/ }

  private func port(_ worker: Running) async throws -> Int {
    try await eventually("the worker serves HTTP") {
      worker.output.firstMatch(of: Self.servedPort) != nil
    }
    return try #require(worker.output.firstMatch(of: Self.servedPort).flatMap { Int($0.1) })
  }

  /// Status line, headers and body, requested without a library that would normalize the path.
  private func answer(_ worker: Running, _ path: String) async throws -> String {
    let stream = try connectToLoopback(port: try await port(worker))
    try stream.write(
      Array("GET /\(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8))
    var bytes: [UInt8] = []
    while let next = try? stream.read(1) { bytes += next }
    return String(decoding: bytes, as: UTF8.self)
  }
}
