import EmbeddedStack
import Foundation
import TestSupport
import Testing

@Suite("Command lines of the workers")
struct WorkerCommandTests {
  @Test(
    "an invalid command line exits 64 with the worker's name",
    arguments: [
      "fanout-worker", "notification-worker", "alarm-worker", "reminder-worker", "push-worker",
    ])
  func usage(worker: String) async throws {
    let result = try await Tool(executable: worker)("--nosuch")
    #expect(result.status == 64)
    #expect(result.error.hasPrefix("\(worker): Unknown option '--nosuch'"), "\(result.error)")
  }

  @Test("a static group member cannot have several lanes")
  func staticMember() async throws {
    let worker = Tool(
      executable: "fanout-worker",
      environment: [
        "MAGPIE_DATABASE_URL": "postgresql://127.0.0.1:1/nowhere",
        "MAGPIE_KAFKA_BOOTSTRAP": "127.0.0.1:1",
        "MAGPIE_KAFKA_PROPERTIES": "group.instance.id=one",
      ])
    let result = try await worker("--lanes", "2")
    #expect(result.status == 64)
    #expect(result.error.contains("group.instance.id"), "\(result.error)")
    #expect(result.error.contains("--lanes"), "\(result.error)")
  }

  @Test("push-worker's help names the command that makes its keys")
  func keys() async throws {
    let help = try await Tool(executable: "push-worker")("--help").output
    #expect(help.contains("magpie push keys"))
  }

  @Test(
    "a worker does not wait for a named pipe in place of a file of secrets",
    arguments: [("reminder-worker", "--secret-file"), ("push-worker", "--token-keys-file")])
  func namedPipe(worker: String, option: String) async throws {
    try await refusesPipe(Tool(executable: worker)) { tool, pipe in try await tool(option, pipe) }
  }

  @Test(
    "a worker does not wait for a named pipe in place of a connection's settings",
    arguments: [
      "MAGPIE_DATABASE_URL_FILE", "MAGPIE_DATABASE_PASSWORD_FILE", "MAGPIE_KAFKA_PROPERTIES_FILE",
      "MAGPIE_KAFKA_PASSWORD_FILE",
    ])
  func namedPipeOfConnection(variable: String) async throws {
    var worker = Tool(
      executable: "fanout-worker",
      environment: [
        "MAGPIE_KAFKA_BOOTSTRAP": "127.0.0.1:1", "MAGPIE_DATABASE_URL": "host=127.0.0.1 port=1",
      ])
    if variable == "MAGPIE_DATABASE_URL_FILE" { worker.environment["MAGPIE_DATABASE_URL"] = nil }
    try await refusesPipe(worker) { tool, pipe in
      var tool = tool
      tool.environment[variable] = pipe
      return try await tool()
    }
  }

  private func refusesPipe(
    _ tool: Tool, _ run: (Tool, String) async throws -> Tool.Result
  ) async throws {
    let pipe = NSTemporaryDirectory() + "magpie-pipe-\(UUID().uuidString)"
    try #require(mkfifo(pipe, 0o600) == 0)
    defer { try? FileManager.default.removeItem(atPath: pipe) }
    let result = try await run(tool, pipe)
    #expect(result.status == 64)
    #expect(result.error.contains("cannot be read; is it a regular file"), "\(result.error)")
  }

  @Test(
    "a worker refuses a directory without time zones",
    arguments: ["reminder-worker", "push-worker"])
  func noZones(worker: String) async throws {
    let result = try await Tool(executable: worker)("--zoneinfo-dir", "/nonexistent")
    #expect(result.status == 64)
    #expect(
      result.error.contains("there is no time zone data in /nonexistent"), "\(result.error)")
  }

  @Test(
    "a worker may open as many files as its hard limit admits, whatever the soft one",
    .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/limits")))
  func descriptors() async throws {
    let log = NSTemporaryDirectory() + "magpie-descriptors-\(UUID().uuidString).log"
    defer { try? FileManager.default.removeItem(atPath: log) }
    let worker = try ChildProcess(
      "/bin/sh",
      ["-c", "ulimit -S -n 128; exec \"$0\" --http-port 0", builtExecutable("fanout-worker")],
      environment: [
        "MAGPIE_DATABASE_URL": "postgresql://127.0.0.1:1/nowhere",
        "MAGPIE_KAFKA_BOOTSTRAP": "127.0.0.1:1",
      ], output: .file(log))
    defer { worker.terminate(SIGKILL) }
    try await eventually("it serves") {
      try String(contentsOfFile: log, encoding: .utf8).contains("serving")
    }
    let limits = try String(contentsOfFile: "/proc/\(worker.processID)/limits", encoding: .utf8)
    let files = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
    let words = files.split(separator: " ")
    #expect(words[3] == words[4], "\(files)")
  }

  @Test("a port in use ends the worker with exit code 1, and one log line says so")
  func portInUse() async throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        #expect(bind(listener, $0, length) == 0)
        #expect(listen(listener, 1) == 0)
        #expect(getsockname(listener, $0, &length) == 0)
      }
    }
    let port = UInt16(bigEndian: address.sin_port)
    let worker = Tool(
      executable: "fanout-worker",
      environment: [
        "MAGPIE_DATABASE_URL": "postgresql://127.0.0.1:1/nowhere",
        "MAGPIE_KAFKA_BOOTSTRAP": "127.0.0.1:1",
      ])
    let result = try await worker("--http-port", String(port))
    #expect(result.status == 1)
    let complaints = result.error.split(separator: "\n").filter { $0.contains("cannot serve HTTP") }
    #expect(complaints.count == 1, "\(result.error)")
    #expect(complaints.first?.contains(" error ") == true)
  }
}
