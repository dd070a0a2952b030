import Alarms
import EmbeddedStack
import Events
import Feeds
import Foundation
import Lanes
import Notifications
import Postgres
import TestSupport
import Testing

@Suite("magpie up and demo", .serialized)
struct UpTests {
  static let story = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../Examples/story.jsonl").path

  @Test("the demo shows the story's screens and leaves nothing behind")
  func demo() async throws {
    let directory = "/tmp/magpie-demo-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let result = try await Tool()("demo", "--state-dir", directory)
    #expect(result.status == 0, "\(result.error)")
    let screens = try String(
      contentsOfFile: Self.story.replacing("story.jsonl", with: "story-screens.txt"),
      encoding: .utf8)
    #expect(result.output.hasPrefix(screens + "\n── Joon is reminded,"))
    for line in [
      // A duplicate like, a removed one, and one by the reader herself; seen and not read.
      "○ 2025-05-17 09:06  Omar <3 tea님 외 2명이 회원님의 게시물을 좋아합니다",
      // Liked, unliked, liked again; renamed afterwards.
      "민지🌸 และ พลอย✨ ถูกใจโพสต์ของคุณ",
      // Behind the alarm of four followers: one followed back, one not.
      "ليلى 🌙  layla  (followed, follows you)  https://img.example/layla.jpg",
      "Grace 👩🏽‍🚀  grace  (follows you; follow back)",
      // An edit in the place of its first publication.
      "2025-05-17 09:15  edited  ♥ 2  💬 1  สมชาย ⚽ กัปตัน",
      "  리마인더: 자전거 타이어: 퇴근 전에 공기 넣기\n",
      "\nInvariants\n", "verify_feeds: holds", "verify_reminders: holds",
      "72 events became 9 posts in feeds, 6 conversations and 22 alarms",
      "0 dead letters",
    ] {
      #expect(result.output.contains(line), "\(line)")
    }
    #expect(!result.output.contains("\u{1B}"))
    for hidden in ["please ignore", "today only"] { #expect(!result.output.contains(hidden)) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["logs"])
  }

  @Test("the demo exits 1 and shows the difference if a screen is not the story's")
  func demoOfAnotherStory() async throws {
    let up = try await RunningUp()
    defer { up.remove() }
    let liked = try await up.magpie(
      "publish", "like", "--actor", "ploy", "--post", "minji-bukchon", "--owner", "minji")
    #expect(liked.status == 0, "\(liked.error)")
    let arguments = ["demo", "--workers", "0", "--state-dir", up.directory + "/demo"]
    let result = try await up.magpie.run(arguments)
    #expect(result.status == 1, "\(result.error)")
    #expect(result.error.contains("\n-    2025-05-17 09:00  ♡ 4  💬 3  민지🌸"), "\(result.error)")
    #expect(result.error.contains("\n+    2025-05-17 09:00  ♡ 5  💬 3  민지🌸"), "\(result.error)")
    // Its own story has no such file.
    let other = try await up.magpie.run(arguments + ["--story", Self.story])
    #expect(other.status == 0, "\(other.error)")
    #expect(other.output.contains("Omar <3 tea sent you a message"))
  }

  @Test(
    "alarms that were not rendered when up was killed are rendered at the next start with --data-dir"
  )
  func killedBeforeRendering() async throws {
    let directory = "/tmp/magpie-killed-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let first = try await RunningUp("--data-dir", directory + "/data", in: directory)
    let alarmWorkers = first.children(named: "alarm-worker")
    try #require(!alarmWorkers.isEmpty)
    for worker in alarmWorkers { kill(worker, SIGSTOP) }
    let published = try await first.magpie("publish", Self.story)
    #expect(published.output == "72 acknowledged, 0 rejected\n")
    let url = try #require(first.magpie.environment["MAGPIE_DATABASE_URL"])
    var connection = try Connection(url, applicationName: "test")
    func count(_ what: String) throws -> Int {
      try connection.query("SELECT count(*) FROM \(what)").only.int(0)
    }
    let unrendered = """
      shown_notifications n LEFT JOIN alarms a USING (notification_id)
      WHERE a.notification_id IS NULL OR a.retracted
        OR (a.generation, a.counter) <> (n.generation, n.counter)
      """
    try await eventually("notification-worker has applied the story") {
      let lag = try await first.magpie("lag", "--json", "--all")
      let left = try lag.lines
        .filter { try member("group", of: $0) == "magpie.notification" }
        .map { try member("lag", of: $0, as: Int.self) }
      return !left.isEmpty && left.allSatisfy { $0 == 0 }
    }
    // The demo shows as many alarms for this story.
    #expect(try count("shown_notifications") == 21)
    #expect(try count(unrendered) == 21)
    connection.close()
    first.process.terminate(SIGKILL)

    let second = try await RunningUp("--data-dir", directory + "/data", in: directory)
    defer { second.remove() }
    connection = try Connection(
      try #require(second.magpie.environment["MAGPIE_DATABASE_URL"]), applicationName: "test")
    try await eventually("all alarms are rendered: \(second.output)") {
      try count(unrendered) == 0
    }
    #expect(second.output.contains("published 21 notification(s) again"))
    let verified = try await second.magpie("verify", "--wait", "60")
    #expect(verified.status == 0, "\(verified.error)\(verified.output)")
  }

  @Test("libpq's variables neither break nor redirect the private PostgreSQL")
  func variablesOfTheShell() async throws {
    let up = try await RunningUp(
      environment: [
        "PGPORT": "1", "PGHOSTADDR": "127.0.0.1", "PGSERVICE": "no-such",
        "PGOPTIONS": "-c search_path=nowhere", "PGREQUIREPEER": "nobody-else",
        "PGTARGETSESSIONATTRS": "read-only",
      ])
    defer { up.remove() }
    var tool = up.magpie
    tool.environment["PGPORT"] = "1"
    let lag = try await tool("lag")
    #expect(lag.status == 0, "\(lag.error)")
  }

  @Test("up --pages serves the pages, and each link's token opens that person's screens")
  func pages() async throws {
    let up = try await RunningUp("--pages", "--api-port", "0")
    defer { up.remove() }
    let links = up.output.matches(of: /(?m)^http:\/\/127\.0\.0\.1:(\d+)\/#token=(\S+)$/)
    // Eight people and an operator.
    #expect(links.count == 9, "\(up.output)")
    let port = try #require(links.first.flatMap { UInt16($0.1) })
    let operators = try #require(links.last.flatMap { UInt16($0.1) })
    #expect(operators != port)
    func get(_ path: String, _ other: UInt16? = nil, token: Substring? = nil) -> LocalHTTP.Answer? {
      LocalHTTP.get(
        path, port: other ?? port, timeoutSeconds: Int(hangLimitSeconds), bytesMax: 1 << 20,
        token: token.map(String.init))
    }
    #expect(get("/")?.body.contains("main.js") == true)
    #expect(get("/v1/badge")?.status == 401)
    var badges: [String] = []
    for link in links.dropLast() {
      let badge = try #require(get("/v1/badge", token: link.2))
      #expect(badge.status == 200, "\(badge.body)")
      badges.append(badge.body)
    }
    // Minji is the first person of the story, and has alarms that she has not seen.
    #expect(badges[0].contains("\"badge\" : 2"), "\(badges)")
    #expect(Set(badges).count > 2)
    #expect(get("/v1/overview", operators, token: links[0].2)?.status == 401)
    #expect(get("/v1/badge", token: links[8].2)?.status == 401)
    // The four workers and the gateway.
    try await eventually("the operators' pages see that every process is ready") {
      let overview = get("/v1/overview", operators, token: links[8].2)?.body ?? ""
      return overview.matches(of: /"isReady":true/).count == 5
    }
    var tool = up.magpie
    tool.environment["MAGPIE_JWKS_FILE"] = up.directory + "/state/gateway-keys.json"
    tool.environment["MAGPIE_TOKEN_ISSUER"] = "magpie up"
    tool.environment["MAGPIE_TOKEN_AUDIENCE"] = "magpie pages"
    let signed = try await tool("token", "sign", "nobody-yet", "joon", "--json")
    let token = try #require(
      try member("token", of: signed.lines.last ?? "", as: String.self), "\(signed.error)")
    #expect(get("/v1/badge", token: token[...])?.body == badges[1])
  }

  @Test("publish, feed, alarms, lag and verify work against up until SIGTERM")
  func wholeSession() async throws {
    let up = try await RunningUp("--partitions", "2", "--workers", "2")
    defer { up.remove() }
    let magpie = up.magpie
    #expect(try await magpie("publish", Self.story).output == "72 acknowledged, 0 rejected\n")
    let hostile = "\u{202E}evil\u{1B}[31m"
    let named = try await magpie(
      "publish", "profile", "--user", "minji", "--nickname", hostile, "--locale", "ko-KR")
    #expect(named.status == 0, "\(named.error)")
    let verified = try await magpie("verify", "--wait", hangLimitText)
    #expect(verified.status == 0, "\(verified.error)\(verified.output)")

    let lag = try await magpie("lag", "--json")
    #expect(try member("total", of: try #require(lag.lines.last)) == 0)
    #expect(lag.lines.count == 20 * 2 + 1)
    // The tool knows the topics that each worker consumes.
    let handlers = [feedHandler(), notificationHandler(), try alarmHandler(defaultLocale: "en")]
    let consumed =
      handlers.flatMap { handler in
        handler.topics.map { "magpie.\(handler.name) \($0.name())" }
      } + ConsumerGroup.reminder.topics.map { "magpie.reminder \($0.name())" }
    let reported = try lag.lines.dropLast().map { line in
      "\(try member("group", of: line) ?? "") \(try member("topic", of: line) ?? "")"
    }
    #expect(Set(reported) == Set(consumed))

    let feed = try await magpie("feed", "joon")
    #expect(feed.output.contains(#"\u{202E}evil\u{1B}[31m"#))
    #expect(!feed.output.contains("\u{1B}") && !feed.output.contains("\u{202E}"))
    let rows = try await magpie("feed", "minji", "--json", "--limit", "1")
    #expect(try member("post_id", of: rows.lines[0]) == "layla-muizz")
    let cursor: String = try #require(try member("cursor", of: rows.lines[0]))
    let older = try await magpie("feed", "minji", "--json", "--before", cursor)
    #expect(try older.lines.map { try member("post_id", of: $0) } == ["somchai-market"])
    let messages = try await magpie("conversations", "grace", "--with", "minji")
    #expect(messages.lines.count == 2)

    let shown = try await magpie.onTerminal("alarms", "grace", "--limit", "1")
    #expect(shown.contains("\u{1B}[1;36mOmar <3 tea\u{1B}[0m"))
    #expect(try await !magpie("alarms", "grace").output.contains("\u{1B}"))

    let connection = try Connection(
      try #require(magpie.environment["MAGPIE_DATABASE_URL"]), applicationName: "test")
    try connection.script("DELETE FROM feed_entries")
    let broken = try await magpie("verify", "--limit", "2")
    #expect(broken.status == 1)
    #expect(broken.output.contains("verify_feeds: broken in 9 places"))
    #expect(broken.output.contains("and 7 more"))
    connection.close()

    #expect(up.process.terminate(within: hangLimitSeconds) == .exited(0), "\(up.output)")
    #expect(try await magpie("verify").status == 69)
    #expect(try await magpie("topics").status == 69)
    let left = try FileManager.default.contentsOfDirectory(atPath: up.directory + "/state")
    #expect(left == ["logs"])
  }

  @Test(
    "kept data survives the loss of the embedded broker's log, whose stored offsets are removed")
  func keptData() async throws {
    let directory = "/tmp/magpie-kept-\(UUID().uuidString.prefix(8))"
    let first = try await RunningUp("--data-dir", directory + "/data", in: directory)
    defer { first.remove() }
    _ = try await first.magpie("publish", Self.story)
    #expect(try await first.magpie("verify", "--wait", hangLimitText).status == 0)
    let before = try await first.magpie("alarms", "minji", "--json")
    first.process.signal(SIGKILL)
    _ = first.process.wait(seconds: hangLimitSeconds)

    let second = try await RunningUp("--data-dir", directory + "/data", in: directory)
    defer { second.remove() }
    #expect(second.output.contains("stored offsets"))
    #expect(try await second.magpie("alarms", "minji", "--json").output == before.output)
    // Publishing the same events again changes nothing.
    _ = try await second.magpie("publish", Self.story)
    #expect(try await second.magpie("verify", "--wait", hangLimitText).status == 0)
    #expect(try await second.magpie("alarms", "minji", "--json").output == before.output)
  }

  @Test("a directory in the place of a worker's link is kept, and up exits 64")
  func directoryInPlaceOfLink() async throws {
    let state = "/tmp/magpie-link-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: state) }
    let kept = state + "/logs/fanout-worker/kept"
    try FileManager.default.createDirectory(atPath: kept, withIntermediateDirectories: true)
    let result = try await Tool()("up", "--state-dir", state)
    #expect(result.status == 64)
    #expect(
      result.error.contains("/logs/fanout-worker cannot be created: File exists. Choose another"),
      "\(result.error)")
    #expect(FileManager.default.fileExists(atPath: kept))
  }

  @Test("a second up in the same directory has its own logs and links")
  func secondInDirectory() async throws {
    let first = try await RunningUp()
    defer { first.remove() }
    let log = first.directory + "/state/logs/fanout-worker-1.log"
    let before = try String(contentsOfFile: log, encoding: .utf8)
    let second = try await RunningUp(in: first.directory)
    defer { second.process.terminate(within: 60) }
    #expect(second.output.contains("logs in \(first.directory)/state/logs-2\n"))
    #expect(!before.isEmpty)
    #expect(try String(contentsOfFile: log, encoding: .utf8).hasPrefix(before))
  }

  #if os(Linux)
    @Test("a worker that ends while the demo waits for its results is started again")
    func workerEndsDuringDemo() async throws {
      let directory = "/tmp/magpie-demo-\(UUID().uuidString.prefix(8))"
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      let log = directory + "/demo.log"
      let demo = try ChildProcess(
        builtExecutable("magpie"), ["demo", "--state-dir", directory + "/state"],
        environment: RunningUp.withoutSettings, output: .file(log))
      defer { demo.terminate(within: 60) }
      var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
      try await eventually("the workers run") {
        try #require(demo.isRunning, "\(output)")
        return output.contains("logs in ")
      }
      for worker in RunningUp.children(of: demo, named: "alarm-worker") { kill(worker, SIGTERM) }
      try await eventually("the end of the demo") { !demo.isRunning }
      #expect(demo.exit == .exited(0), "\(output)")
    }

    @Test("the demo can be interrupted while it waits for its story")
    func interruptedBeforeStory() async throws {
      let pipe = "/tmp/magpie-story-\(UUID().uuidString.prefix(8))"
      try #require(mkfifo(pipe, 0o600) == 0)
      defer { unlink(pipe) }
      let demo = try ChildProcess(
        builtExecutable("magpie"), ["demo", "--state-dir", pipe + "-state", "--story", pipe],
        environment: RunningUp.withoutSettings)
      var writer: Int32 = -1
      try await eventually("it reads the pipe") {
        try #require(demo.isRunning)
        writer = open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
        return writer >= 0
      }
      defer { close(writer) }
      #expect(demo.terminate(within: hangLimitSeconds) == .signalled(SIGTERM))
    }

    @Test("up that is started with SIGHUP ignored, as nohup does, survives it")
    func hangup() async throws {
      let up = try await RunningUp("--workers", "0", after: "trap '' HUP")
      defer { up.remove() }
      up.process.signal(SIGHUP)
      // It does so until it stops.
      for server in up.children(named: "postgres") { kill(server, SIGQUIT) }
      try await eventually("it starts PostgreSQL again: \(up.output)") {
        try #require(up.process.isRunning, "\(up.output)")
        return up.output.contains("starting it again")
      }
    }
  #endif

  @Test(
    "up survives repeated kills of its PostgreSQL and its workers, even during recovery")
  func killedAgainAndAgain() async throws {
    let directory = "/tmp/magpie-again-\(UUID().uuidString.prefix(8))"
    let up = try await RunningUp("--data-dir", directory + "/data", in: directory)
    defer { up.remove() }
    let connection = try Connection(
      try #require(up.magpie.environment["MAGPIE_DATABASE_URL"]), applicationName: "test")
    let data = try connection.query("SHOW data_directory").only.text(0)
    _ = try await up.magpie("publish", Self.story)
    var killed: Set<Int32> = []
    for _ in 0..<3 {
      // Kills each PostgreSQL as soon as it has started, in the middle of its recovery.
      try await eventually("another PostgreSQL") {
        guard let text = try? String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8),
          let process = text.split(separator: "\n").first.flatMap({ Int32($0) }),
          killed.insert(process).inserted
        else { return false }
        return kill(process, SIGQUIT) == 0
      }
    }
    #if os(Linux)
      for round in 0..<6 {
        try await eventually("round \(round)") {
          up.children(named: "alarm-worker").contains {
            killed.insert($0).inserted && kill($0, SIGKILL) == 0
          }
        }
      }
    #endif
    _ = try await up.magpie("publish", Self.story)
    let verified = try await up.magpie("verify", "--wait", hangLimitText)
    #expect(verified.status == 0, "\(verified.error)\n\(up.output)")
    #expect(up.process.isRunning, "\(up.output)")
  }
}
