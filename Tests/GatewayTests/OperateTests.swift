import EmbeddedStack
import Events
import Foundation
import Kafka
import Postgres
import RecordLog
import TestSupport
import Testing

@testable import Gateway

/// The API of `magpie operate`.
@Suite struct OperateTests {
  @Test("files are everybody's; all else is for tokens of the operators' audience")
  func audience() async throws {
    let stack = try await OperateStack()
    defer { stack.stop() }
    for path in ["/", "/dead-letters", "/verify", "/pages/main.js", "/pages/dom.js"] {
      let file = try await stack.send("GET", path, as: nil)
      #expect(file.status == 200, "\(path)")
      let policy = file.headers["content-security-policy"] ?? ""
      #expect(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "\(path)")
    }
    let posts = ["/v1/redrives", "/v1/discards", "/v1/erasures", "/v1/verification"].map {
      ("POST", $0)
    }
    let gets = [
      "overview", "offsets", "dead-letters", "dead-letters/counts", "dead-letters/letter/x",
      "verification", "x",
    ].map { ("GET", "/v1/\($0)") }
    for (method, path) in posts + gets {
      #expect(try await stack.send(method, path, as: nil).status == 401, "\(path)")
      // What every person of the app has.
      let person = "Bearer " + (try Tokens.ours.get().token("minji"))
      let answer = try await stack.send(method, path, authorization: person)
      #expect(answer.status == 401 && answer.problem == "invalid-token", "\(path)")
      #expect(try await stack.send("DELETE", path).status >= 404, "\(path)")
    }
    for (name, authorization) in try Tokens.wrong("Olga", audience: OperateStack.audience) {
      let answer = try await stack.send(
        "GET", "/v1/overview", as: nil, authorization: authorization)
      #expect(answer.status == 401, "\(name)")
    }
  }

  @Test("with the gateway's audience it does not start")
  func sameAudience() throws {
    let ended = try started()
    #expect(ended.status == 64 && ended.error.contains("everybody would be an operator"))
  }

  @Test(
    "a setting of the handlers in the file of --config is read, and refused as by the workers",
    arguments: [
      (#""pushLimit":-1"#, "--push-limit is -1, but must be 0 to 1000000."),
      (#""feedLength":"9""#, "--feed-length is 9, but must be 10 to 100000."),
      (#""catalogDir":"/nonexistent""#, "/nonexistent"),
      (#""secretFile":"/nonexistent""#, "--secret-file /nonexistent cannot be read"),
    ])
  func handlerSettings(setting: String, message: String) throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "operate-\(UUID()).json")
    defer { try? FileManager.default.removeItem(at: file) }
    try Data(#"{"magpie":{\#(setting)}}"#.utf8).write(to: file)
    let ended = try started("--config", file.path)
    #expect(ended.status == 64 && ended.error.contains(message), "\(ended.error)")
  }

  /// What becomes of one that has the gateway's audience, and so does not run.
  private func started(_ arguments: String...) throws -> (status: Int32, error: String) {
    let process = Process()
    let error = Pipe()
    process.executableURL = URL(filePath: try builtExecutable("magpie"))
    process.arguments = ["operate", "--operate-audience", "app"] + arguments
    process.environment = [
      "MAGPIE_TOKEN_AUDIENCE": "app", "MAGPIE_TOKEN_ISSUER": "i", "MAGPIE_JWKS_FILE": "/none",
      "MAGPIE_DATABASE_URL": "postgresql://127.0.0.1:1/x", "MAGPIE_KAFKA_BOOTSTRAP": "127.0.0.1:9",
    ]
    process.standardError = error
    try process.run()
    let text = String(
      decoding: try error.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }

  @Test("a redrive applies what it can, and the history says who did it and why")
  func redrives() async throws {
    let stack = try await OperateStack()
    defer { stack.stop() }
    let good = try stack.insertLetter(0)
    let bad = try stack.insertLetter(1, poison: true)
    let untouched = try stack.insertLetter(2)
    let secret = try stack.insertLetter(3, group: .push, topic: .devices)
    let done = try await stack.send(
      "POST", "/v1/redrives", body: order([good, bad, secret], "fixed in 0.2"))
    #expect(done.status == 200, "\(done.body) \(stack.log)")
    #expect(try done.json["discardOnly"] as? Int == 1)
    #expect(try done.json["redriven"] as? Int == 1)
    #expect(try done.json["failed"] as? Int == 1)
    #expect(
      try stack.texts("SELECT state FROM dead_letters ORDER BY record_offset")
        == ["redriven", "open", "open", "open"])
    #expect(
      try stack.texts(
        "SELECT done_by || ': ' || note FROM dead_letter_history WHERE what = 'redriven'")
        == ["Olga: fixed in 0.2"])
    #expect(try stack.texts("SELECT actor FROM likes") == ["actor0"])
    let path = "/v1/dead-letters/letter/" + escaped(bad)
    let letter = try await stack.send("GET", path)
    #expect(try (letter.json["history"] as? [Any])?.count == 2, "\(letter.body)")
    let list = try await stack.send("GET", "/v1/dead-letters?limit=1")
    #expect(try list.items.first?["id"] as? String == bad)
    #expect(try list.json["next"] as? String == bad)
    let rest = try await stack.send("GET", "/v1/dead-letters?after=" + escaped(bad))
    #expect(try rest.items.map { $0["id"] as? String } == [untouched, secret])
    // The log has who asked for it, also for what failed.
    #expect(stack.log.contains("Olga") && stack.log.contains("fixed in 0.2"))
  }

  @Test("a discard needs a reason, takes open ones only, and is done once")
  func discards() async throws {
    let stack = try await OperateStack()
    defer { stack.stop() }
    let ids = try (0..<3).map { try stack.insertLetter($0) }
    for reason in ["", " \n", String(repeating: "x", count: 2001), "\u{0}"] {
      let answer = try await stack.send("POST", "/v1/discards", body: order(ids, reason))
      #expect(answer.status == 422, "\(answer.body)")
    }
    for body in [
      "", "[]", "{", #"{"ids":[],"reason":"x"}"#, #"{"ids":["x"],"reason":"x"}"#,
      #"{"ids":["a/0/1"],"reason":"x"}"#, #"{"ids":["a:b/0/1"],"reason":"x","all":true}"#,
    ] {
      let answer = try await stack.send("POST", "/v1/discards", body: body)
      #expect([400, 422].contains(answer.status), "\(body): \(answer.body)")
    }
    let many = (0...200).map { "g:t/0/\($0)" }
    #expect(try await stack.send("POST", "/v1/discards", body: order(many, "x")).status == 422)
    #expect(try stack.texts("SELECT state FROM dead_letters WHERE state <> 'open'") == [])
    for number in [2, 0] {
      let answer = try await stack.send(
        "POST", "/v1/discards", body: order(Array(ids.prefix(2)), "a test's rubbish"))
      #expect(try answer.json["discarded"] as? Int == number, "\(answer.body)")
    }
    #expect(
      try stack.texts(
        "SELECT resolved_by || ': ' || resolution FROM dead_letters WHERE state = 'discarded'")
        == Array(repeating: "Olga: a test's rubbish", count: 2))
    let counts = try await stack.send("GET", "/v1/dead-letters/counts")
    #expect(counts.body.contains(#""count":1"#), "\(counts.body)")
  }

  @Test("an operator's request to forget a person is published, and logged without the person")
  func erases() async throws {
    let stack = try await OperateStack()
    defer { stack.stop() }
    let refused = [
      ("", 400), ("[]", 400), ("{}", 422), (#"{"user":7}"#, 422),
      (#"{"user":"a","at":"now"}"#, 422),
      (#"{"user":"erased:1"}"#, 422),
    ]
    for (body, status) in refused {
      let answer = try await stack.send("POST", "/v1/erasures", body: body)
      #expect(answer.status == status, "\(body): \(answer.body)")
    }
    let answer = try await stack.send(
      "POST", "/v1/erasures", body: #"{"user":"someone-leaving"}"#)
    #expect(answer.status == 200, "\(answer.body) \(stack.log)")
    let log = try KafkaLog(configuration: TestBroker.shared.configuration)
    let topic = Topic.erasures.name(prefix: stack.prefix)
    var events: [Event] = []
    try log.read(try log.spans(of: [topic]).filter { !$0.value.isEmpty }, maxRecords: 10) { batch in
      events += try batch.records.map {
        try EventCodec.decode($0.wire, topic: .erasures, now: .now)
      }
    }
    #expect(events.map(\.payload) == [.userErased(.with { $0.user = "someone-leaving" })])
    #expect(try answer.json["event"] as? String == events.first?.id)
    #expect(stack.log.contains("Olga") && !stack.log.contains("someone-leaving"))
  }

  @Test("the overview has lag, dead letters and processes, and samples once each")
  func overview() async throws {
    let stack = try await OperateStack()
    defer { stack.stop() }
    try stack.insertLetter(0)
    var first: [String: Any] = [:]
    try await eventually("a look has seen the dead letter, and Kafka's ends") {
      first = try await stack.send("GET", "/v1/overview").json
      let lag = (first["samples"] as? [[String: Any]])?.last?["lag"] as? [String: Int]
      return first["openDeadLetters"] as? Int == 1 && lag?.count == 5
    }
    let samples = try #require(first["samples"] as? [[String: Any]])
    let newest = try #require(samples.last?["number"] as? Int)
    let groups = (samples.last?["lag"] as? [String: Int])?.keys.sorted()
    #expect(groups == ["alarm", "fanout", "notification", "push", "reminder"])
    let processes = try #require(first["processes"] as? [[String: Any]])
    #expect(processes.map { $0["answers"] as? Bool } == [false])
    let later = try await stack.send("GET", "/v1/overview?after=\(newest)").json
    let numbers = (later["samples"] as? [[String: Any]] ?? []).compactMap { $0["number"] as? Int }
    #expect(numbers.allSatisfy { $0 > newest } && later["isNew"] as? Bool == false)
    let other = try await stack.send("GET", "/v1/overview?after=1000000").json
    #expect(other["isNew"] as? Bool == true)
    try await eventually("the offsets are there") {
      try await stack.send("GET", "/v1/offsets").body.contains("\(stack.prefix)likes")
    }
    #expect(try await stack.send("GET", "/v1/overview?after=x").status == 400)
    #expect(try await stack.send("GET", "/v1/overview?before=1").status == 400)
  }

  @Test("without Kafka the pages show what PostgreSQL has, and nothing is redriven")
  func withoutKafka() async throws {
    let stack = try await OperateStack(bootstrap: "127.0.0.1:9")
    defer { stack.stop() }
    let id = try stack.insertLetter(0)
    var overview: [String: Any] = [:]
    try await eventually("a look has seen the dead letter") {
      overview = try await stack.send("GET", "/v1/overview").json
      return overview["openDeadLetters"] as? Int == 1
    }
    #expect((overview["problem"] as? String)?.hasPrefix("Kafka") == true, "\(overview)")
    let redriven = try await stack.send("POST", "/v1/redrives", body: order([id], "a try"))
    #expect(redriven.status == 503, "\(redriven.body)")
    let erased = try await stack.send("POST", "/v1/erasures", body: #"{"user":"a"}"#)
    #expect(erased.status == 503, "\(erased.body)")
    #expect(try stack.texts("SELECT state FROM dead_letters") == ["open"])
  }

  @Test("a verification finds what is broken, and says who started it")
  func verifies() async throws {
    let stack = try await OperateStack()
    defer { stack.stop() }
    #expect(try await stack.send("GET", "/v1/verification").json["isRunning"] as? Bool == false)
    // A count without the follows that it counts.
    try stack.connection().query(
      "INSERT INTO follow_counts (user_key, followers) VALUES (42, 3)")
    let started = try await stack.send("POST", "/v1/verification", body: "{}")
    #expect(try started.json["startedBy"] as? String == "Olga", "\(started.body)")
    var state: [String: Any] = [:]
    try await eventually("it has ended") {
      state = try await stack.send("GET", "/v1/verification").json
      return state["isRunning"] as? Bool == false
    }
    let checks = try #require(state["checks"] as? [[String: Any]])
    #expect(checks.count > 3 && checks.contains { ($0["broken"] as? Int ?? 0) > 0 }, "\(state)")
    #expect(state["problem"] == nil)
  }

  // Logins are global to the server, so this test needs a private one.
  @Test(
    "a login that is a member of the workers' roles and owns nothing is enough",
    .enabled(if: !TestDatabase.isExternal))
  func leastPrivilege() async throws {
    let login = "operator_\(UUID().uuidString.prefix(8).lowercased())"
    try Connection(TestDatabase.fresh(), applicationName: "test").script(
      """
      CREATE ROLE \(login) LOGIN IN ROLE magpie_fanout, magpie_notification, magpie_alarm,
        magpie_reminder, magpie_reader
      """)
    let stack = try await OperateStack(login: login)
    defer { stack.stop() }
    let (one, two) = (try stack.insertLetter(0), try stack.insertLetter(1))
    let redriven = try await stack.send("POST", "/v1/redrives", body: order([one], "a test"))
    #expect(try redriven.json["redriven"] as? Int == 1, "\(redriven.body) \(stack.log)")
    let discarded = try await stack.send("POST", "/v1/discards", body: order([two], "a test"))
    #expect(try discarded.json["discarded"] as? Int == 1, "\(discarded.body) \(stack.log)")
    _ = try await stack.send("POST", "/v1/verification", body: "{}")
    try await eventually("the verification has ended") {
      try await stack.send("GET", "/v1/verification").json["isRunning"] as? Bool == false
    }
    let state = try await stack.send("GET", "/v1/verification").json
    #expect(state["problem"] == nil, "\(state)")
    try await eventually("the overview has no problem") {
      let overview = try await stack.send("GET", "/v1/overview").json
      return overview["problem"] == nil && overview["openDeadLetters"] as? Int == 0
    }
  }

  private func escaped(_ id: String) -> String {
    id.replacing(":", with: "%3A").replacing("/", with: "%2F")
  }
}
