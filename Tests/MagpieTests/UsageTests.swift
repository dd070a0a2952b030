import EmbeddedStack
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing

@testable import magpie

@Suite("magpie's command line")
struct UsageTests {
  let magpie = Tool()

  @Test(
    "every command has help",
    arguments: [
      "up", "demo", "publish", "publish like", "generate", "import ldbc-snb", "home", "feed",
      "post",
      "comments", "profile", "search", "alarms", "people", "conversations", "chat", "settings",
      "render", "kinds", "kinds list", "kinds check", "setup", "migrate", "topics",
      "lag", "verify", "operate", "token", "token keys", "token sign", "healthcheck",
      "erasure request", "erasure report", "erasure verify",
    ])
  func help(command: String) async throws {
    let result = try await magpie.run(command.split(separator: " ").map(String.init) + ["--help"])
    #expect(result.status == 0)
    #expect(result.output.contains("OVERVIEW:"))
    #expect(result.output.contains("USAGE: magpie \(command)"))
  }

  @Test("push explain finds no alarm that does not exist, also with --json")
  func missingAlarm() async throws {
    let tool = Tool(environment: ["MAGPIE_DATABASE_URL": try TestDatabase.fresh()])
    for options in [[], ["--json"]] {
      let result = try await tool.run(["push", "explain", UUID().uuidString] + options)
      #expect(result.status == 1 && result.error.contains("There is no such alarm."), "\(result)")
    }
  }

  @Test(
    "a token is signed for no id that the gateway refuses",
    arguments: ["", ".", "..", "erased:x", "a\u{7}b", String(repeating: "a", count: 129)])
  func tokenOf(id: String) async throws {
    let result = try await magpie("token", "sign", id)
    #expect(result.status == 64 && result.error.contains("The id of a person"), "\(result)")
  }

  @Test("the exit codes are documented")
  func exitCodes() async throws {
    let result = try await magpie("--help")
    for code in ["0 ", "1 ", "64", "65", "66", "69", "74"] {
      #expect(result.output.contains("\n  \(code)  "))
    }
  }

  @Test(
    "a wrong command line exits 64",
    arguments: [
      "nosuch", "publish like --actor a", "lag --interval 0", "feed u --limit 201",
      "generate --users 0 --events 1 --seed 1", "topics --partitions 0", "verify --limit 0",
      "up --workers 17", "up --api-port 1", "up --pages --workers 0", "token sign minji",
      "token sign minji --jwks-file /dev/null --token-issuer i --token-audience a",
      "up --kafka-bootstrap 127.0.0.1:9", "feed", "publish",
      "post u p --likers --comments", "profile u --posts --followers", "people u 1", "chat u",
      "comments u",
      "settings", "render --type like --actor a --count 0",
      "render --type like --actor a --json --html",
      "render --type like --actor a --locale ko --all-locales", "render --type like",
      "render --type security --actor a --argument device=x", "render --type security",
      "render --type badge --argument badge", "render --type badge --argument bagde=x",
      "render --type ranking --argument title=t --argument rank=1st", "kinds check",
      "erasure request", "erasure request u --timeout 0", "erasure report --max-age soon",
      "erasure verify", "erasure verify u --name=", "erasure verify u",
      "verify --progress", "verify --samples 5", "verify --catalog-dir /tmp",
      "verify --deep --limit 5", "verify --checksums --limit 5",
    ])
  func usage(command: String) async throws {
    let result = try await magpie.run(command.split(separator: " ").map(String.init))
    #expect(result.status == 64)
    #expect(!result.error.isEmpty)
  }

  @Test(
    "an option of another mode of replay is refused",
    arguments: [
      ("--rebuild all --rate 5", "--rate is for --apply, --republish, not for --rebuild."),
      ("--rebuild all --worker fanout", "--worker is for --apply, not for --rebuild."),
      ("--republish x. --max-lag 10", "--max-lag is for --apply, not for --republish."),
      ("--diff --lanes 2", "--lanes is for --rebuild, --swap, --swap-back, not for --diff."),
      ("--rebuild all --samples 5", "--samples is for --diff, not for --rebuild."),
      ("--apply --wait-readers 5", "--wait-readers is for --swap, --swap-back, not for --apply."),
    ])
  func replayOptions(options: String, message: String) async throws {
    let result = try await magpie.run(
      ["replay"] + options.split(separator: " ").map(String.init))
    #expect(result.status == 64)
    #expect(result.error.contains(message), "\(result.error)")
  }

  @Test(
    "a missing setting exits 64 and names its variable",
    arguments: [
      ("topics", "MAGPIE_KAFKA_BOOTSTRAP"), ("migrate", "MAGPIE_DATABASE_URL"),
      ("feed u", "MAGPIE_DATABASE_URL"), ("verify", "MAGPIE_DATABASE_URL"),
      ("publish read-all-alarms --user u", "MAGPIE_KAFKA_BOOTSTRAP"),
      ("erasure request u", "MAGPIE_KAFKA_BOOTSTRAP"), ("erasure report", "MAGPIE_DATABASE_URL"),
      ("erasure verify u --skip-kafka", "MAGPIE_DATABASE_URL"),
    ])
  func missingSetting(command: String, variable: String) async throws {
    let result = try await magpie.run(command.split(separator: " ").map(String.init))
    #expect(result.status == 64)
    #expect(result.error.contains(variable))
    #expect(result.error.contains("magpie up"))
  }

  @Test(
    "a mistyped command exits 64 and names the nearest one",
    arguments: [
      ("fed u", "Did you mean \"feed\"?"), ("help publsh", "Did you mean \"publish\"?"),
      ("help publish lik", "Did you mean \"like\"?"), ("offsets sho", "Did you mean \"show\"?"),
      ("xyzzyx", "unknown command xyzzyx. "),
    ])
  func mistyped(command: String, message: String) async throws {
    let result = try await magpie.run(command.split(separator: " ").map(String.init))
    #expect(result.status == 64)
    #expect(result.error.hasPrefix("magpie: unknown command "), "\(result.error)")
    #expect(result.error.contains(message), "\(result.error)")
    #expect(result.output.isEmpty)
  }

  @Test("output that cannot be written is reported once and exits 74")
  func lostOutput() async throws {
    let process = try magpie.makeProcess(["kinds", "list"])
    let errors = Pipe()
    process.standardOutput = FileHandle(forWritingAtPath: "/dev/full")
    process.standardError = errors
    try await process.runToEnd()
    #expect(process.terminationStatus == 74)
    let text = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
    #expect(
      text == "magpie: standard output cannot be written, so results are missing: "
        + "No space left on device\n")
  }

  @Test("a closed output is reported and exits 74; nothing is written to the database's connection")
  func closedOutput() async throws {
    let tool = Tool(environment: ["MAGPIE_DATABASE_URL": try TestDatabase.fresh()])
    let process = try tool.makeProcess([
      "-c", #"exec "$0" dead-letters list >&-"#, try builtExecutable("magpie"),
    ])
    process.executableURL = URL(filePath: "/bin/sh")
    let result = try await process.result(of: [])
    #expect(result.status == 74)
    #expect(
      String(decoding: result.error, as: UTF8.self)
        == "magpie: standard output cannot be written, so results are missing: "
        + "Bad file descriptor\n")
  }

  @Test(
    "keys that cannot be written leave no file, and exit 74 with the system's reason",
    arguments: ["push", "token"])
  func unwritableKeys(command: String) async throws {
    let file = NSTemporaryDirectory() + "magpie-keys-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: file) }
    // The limit stands for a full disk. It is on files, so the output goes through a pipe.
    let process = try magpie.makeProcess([
      "-c",
      #"(trap '' XFSZ; ulimit -f 0; "$0" "$1" keys "$2" 2>&1; echo "exit status $?") | cat"#,
      try builtExecutable("magpie"), command, file,
    ])
    process.executableURL = URL(filePath: "/bin/sh")
    let result = try await process.result(of: [])
    #expect(
      String(decoding: result.output, as: UTF8.self)
        == "magpie: \(file) cannot be written: File too large\nexit status 74\n")
    #expect(!FileManager.default.fileExists(atPath: file))
  }

  @Test("push providers writes push.json only once it listens, and ends if it cannot write")
  func providers() async throws {
    let directory = NSTemporaryDirectory() + "magpie-providers-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    func status(port: String) async throws -> Int32 {
      try await magpie("push", "providers", "--directory", directory, "--port", port).status
    }
    #expect(try await status(port: "0") == 64, "there is no directory")
    let file = directory + "/push.json"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    try "another server's".write(toFile: file, atomically: false, encoding: .utf8)
    for port in ["-1", "65536"] { #expect(try await status(port: port) == 64) }
    let broker = try EmbeddedBroker()
    defer { broker.close() }
    let taken = try #require(
      broker.bootstrap.split(separator: ",").first?.split(separator: ":").last)
    #expect(try await status(port: String(taken)) == 69)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "another server's")
    // No file can replace a directory.
    try FileManager.default.removeItem(atPath: file)
    try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: true)
    #expect(try await status(port: "0") == 74)
  }

  @Test("lag --watch ends once nobody reads its output, also if SIGPIPE is ignored")
  func watchWithoutReader() async throws {
    let letters = try LetterDatabase()
    let ended = NSTemporaryDirectory() + "magpie-watch-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: ended) }
    let shell = try ChildProcess(
      "/bin/sh",
      [
        "-c",
        #"""
        trap '' PIPE
        ("$0" lag --watch --interval 0.1; echo "exit status $?" >"$1") | head -n 1
        """#, builtExecutable("magpie"), ended,
      ], environment: letters.tool.environment.mapValues { $0 })
    defer {
      kill(-shell.processID, SIGKILL)
      shell.terminate(SIGKILL)
    }
    try await eventually("it has ended") {
      (try? String(contentsOfFile: ended, encoding: .utf8)) == "exit status 0\n"
    }
  }

  @Test("a directory that cannot be created exits 64 with the system's reason")
  func unusableDirectory() async throws {
    let state = NSTemporaryDirectory() + "magpie-usage-\(UUID())"
    defer { try? FileManager.default.removeItem(atPath: state) }
    for options in [["--state-dir"], ["--state-dir", state, "--data-dir"]] {
      let result = try await magpie.run(["up"] + options + ["/dev/null/x"])
      #expect(result.status == 64)
      #expect(
        result.error.hasPrefix("magpie: /dev/null/x cannot be created: Not a directory; choose"),
        "\(result.error)")
    }
  }

  @Test("help of an existing command exits 0")
  func helpOfCommand() async throws {
    let result = try await magpie("help", "publish", "like")
    #expect(result.status == 0)
    #expect(result.output.contains("USAGE: magpie publish like"))
  }

  @Test("a number out of bounds is refused with the bounds, and every refusal has the same prefix")
  func bounds() async throws {
    for limit in ["-1", "0", "201"] {
      let result = try await magpie("feed", "u", "--limit", limit)
      #expect(result.status == 64)
      #expect(result.error.hasPrefix("magpie: --limit is \(limit), but must be 1 to 200."))
    }
    let result = try await magpie("feed", "u", "--limit")
    #expect(result.status == 64)
    #expect(result.error.hasPrefix("magpie: "), "\(result.error)")
  }

  @Test(
    "a negative number or a directory is refused by its option's name",
    arguments: [
      ("generate --users 1 --events 1 --seed 1 --days -5", "--days is -5, but must be 1 to 3650."),
      (
        "publish register-device --user a --installation i --provider fcm --app p --token-file /",
        "--token-file / cannot be read."
      ),
    ])
  func refusedValue(command: String, message: String) async throws {
    let result = try await magpie.run(command.split(separator: " ").map(String.init))
    #expect(result.status == 64)
    #expect(result.error.hasPrefix("magpie: \(message)"), "\(result.error)")
  }

  @Test(
    "a rate that no clock can keep is refused with the bounds",
    arguments: [
      "generate --users 1 --events 1 --seed 1 --output /dev/null", "import ldbc-snb /nowhere",
      "replay --apply", "replay --republish x.", "dead-letters redrive --all",
    ])
  func rate(command: String) async throws {
    for rate in ["1e-300", "0", "nan"] {
      let result = try await magpie.run(
        command.split(separator: " ").map(String.init) + ["--rate", rate])
      #expect(result.status == 64)
      #expect(result.error.contains("--rate is "), "\(result.error)")
      #expect(result.error.contains("must be 0.001 to 10000000."), "\(result.error)")
    }
  }

  @Test("an error about an empty option names the option")
  func emptyOption() async throws {
    let result = try await magpie(
      "publish", "like", "--actor", "a", "--post", "p", "--owner", "", "--dry-run")
    #expect(result.status == 1)
    #expect(result.error.contains("--owner is missing or empty"), "\(result.error)")
    #expect(!result.error.contains("postOwner"))
    let joined = try await magpie("publish", "like", "--actor", "a", "--post", "p", "--owner=")
    #expect(joined.status == 64)
    #expect(joined.error.hasPrefix("magpie: --owner needs a value that is not empty.\nHelp: "))
  }

  @Test(
    "an empty --topic-prefix is refused instead of selecting another deployment",
    arguments: [("magpie", ["lag"]), ("fanout-worker", []), ("magpie-gateway", [])]
      as [(String, [String])])
  func emptyPrefix(executable: String, command: [String]) async throws {
    let tool = Tool(executable: executable, environment: ["MAGPIE_TOPIC_PREFIX": "x."])
    let result = try await tool.run(command + ["--topic-prefix", ""])
    #expect(result.status == 64)
    #expect(result.error.contains("--topic-prefix is empty. "), "\(result.error)")
  }

  @Test("a mistyped variable causes a warning, others do not")
  func unknownVariable() async throws {
    let mistyped = try await Tool(environment: [
      "MAGPIE_LANE": "2", "MAGPIE_TEST_SEED": "1", "MAGPIE_FANOUT_SERVICE_HOST": "10.0.0.1",
      "MAGPIE_FANOUT_PORT": "tcp://10.0.0.1:9471", "MAGPIE_LOG_LEVEL": "info",
    ])("publish", "like", "--actor", "a", "--post", "p", "--owner", "o", "--dry-run")
    #expect(mistyped.status == 0)
    #expect(
      mistyped.error
        == "magpie: warning: MAGPIE_LANE is not a setting and is ignored; did you mean MAGPIE_LANES?\n"
    )
  }

  @Test("an unreachable broker exits 69 with its address")
  func brokerAway() async throws {
    let result = try await magpie("topics", "--kafka-bootstrap", "127.0.0.1:1")
    #expect(result.status == 69)
    #expect(result.error.contains("127.0.0.1:1"))
    #expect(result.error.contains("Connection refused"))
  }

  @Test("an unreachable database exits 69 and does not print the password")
  func databaseAway() async throws {
    let url = "postgresql://someone:secret@127.0.0.1:1/magpie"
    for command in ["migrate", "verify"] {
      let result = try await Tool(environment: ["MAGPIE_DATABASE_URL": url])(command)
      #expect(result.status == 69)
      #expect(result.error.contains("127.0.0.1"))
      #expect(!result.error.contains("secret"))
    }
  }

  @Test(
    "what could not be looked at exits 69, not 1",
    arguments: ["42501", "25006", "57014", "53100", "53200"])
  func notLookedAt(sqlstate: String) {
    let error = PostgresError(code: .server, sqlstate: sqlstate, message: "m")
    #expect(Failure(error).code == .unavailable)
    #expect(Failure(ConsumerError.unknownTopic("t")).code == .unavailable)
    let violation = PostgresError(code: .server, sqlstate: "23505", message: "m")
    #expect(Failure(violation).code == .found)
  }

  @Test("a login that may not read the tables makes verify exit 69 and is told which one may")
  func deniedLogin() async throws {
    let url = try TestDatabase.fresh()
    let admin = try Connection(url, applicationName: "test")
    let login = "stranger_\(UUID().uuidString.prefix(8).lowercased())"
    try admin.script("CREATE ROLE \(login) LOGIN; GRANT USAGE ON SCHEMA public TO \(login)")
    defer { try? admin.script("DROP OWNED BY \(login); DROP ROLE \(login)") }
    let denied = try await Tool(environment: ["MAGPIE_DATABASE_URL": url + " user=\(login)"])(
      "verify")
    #expect(denied.status == 69 && denied.error.contains("magpie_operator"), "\(denied.error)")
  }
}
