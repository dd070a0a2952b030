import EmbeddedStack
import Foundation
import Kafka
import Synchronization
import TestSupport
import Testing

/// Collects a child's output.
final class Lines: Sendable {
  private let box = Mutex<[String]>([])
  var all: [String] { box.withLock { $0 } }
  func append(_ line: String) { box.withLock { $0.append(line) } }
}

@Suite struct ChildProcessTests {
  @Test(
    "output arrives line by line, including a last line without a newline, and the exit status is returned"
  )
  func lines() async throws {
    let lines = Lines()
    let child = try ChildProcess(
      "/bin/sh", ["-c", "echo one; echo two >&2; printf \"$WORD\"; exit 3"],
      environment: ["WORD": "three"], output: .lines { lines.append($0) })
    #expect(child.wait(seconds: hangLimitSeconds) == .exited(3))
    try await eventually { lines.all == ["one", "two", "three"] }
    #expect(child.wait(seconds: 0) == .exited(3))
    #expect(!child.isRunning)
  }

  @Test("brokers go down and come up again on the same port while processes are started")
  func listenersOfBrokers() async throws {
    let broker = try EmbeddedBroker()
    defer { broker.close() }
    let children = Task {
      while !Task.isCancelled {
        let child = try ChildProcess("/bin/true")
        #expect(child.wait(seconds: hangLimitSeconds) == .exited(0))
      }
    }
    for _ in 1...20 {
      try broker.setDown()
      try broker.setUp()
    }
    children.cancel()
    try await children.value
    let topics = try Admin(configuration: broker.configuration).topics([])
    #expect(topics.isEmpty)
  }

  @Test("the environment is inherited, extended and reduced as requested")
  func environment() throws {
    let script = "test -n \"$PATH\" && test -z \"${HOME+x}\" && test \"$ADDED\" = 'a b'"
    let child = try ChildProcess(
      "/bin/sh", ["-c", script], environment: ["HOME": nil, "ADDED": "a b"])
    #expect(child.wait(seconds: hangLimitSeconds) == .exited(0))
  }

  @Test("a child inherits only the first three descriptors")
  func descriptors() async throws {
    let lines = Lines()
    let child = try ChildProcess(
      "/bin/sh", ["-c", "ls /proc/self/fd || echo 0 1 2"], output: .lines { lines.append($0) })
    #expect(child.wait(seconds: hangLimitSeconds) == .exited(0))
    // ls itself opens one to read the directory.
    try await eventually { lines.all.count >= 3 }
    #expect(lines.all.count <= 4, "\(lines.all)")
  }

  @Test("terminate sends SIGTERM, and SIGKILL if the child ignores it")
  func terminate() async throws {
    let willing = try ChildProcess("/bin/sleep", ["60"])
    #expect(willing.terminate() == .signalled(SIGTERM))
    let lines = Lines()
    let deaf = try ChildProcess(
      "/bin/sh", ["-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"],
      output: .lines { lines.append($0) })
    try await eventually { lines.all == ["ready"] }
    #expect(deaf.terminate(within: 0.3) == .signalled(SIGKILL))
    #expect(deaf.terminate() == .signalled(SIGKILL))
  }

  @Test("a child does not inherit ignored signals")
  func ignoredSignals() throws {
    let before = signal(SIGUSR2, SIG_IGN)
    defer { signal(SIGUSR2, before) }
    let child = try ChildProcess("/bin/sleep", ["60"])
    #expect(child.terminate(SIGUSR2) == .signalled(SIGUSR2))
  }

  @Test("a missing executable is an error")
  func missing() {
    #expect(throws: StackError.self) { try ChildProcess("/no/such/program") }
    #expect(throws: StackError.self) {
      try ChildProcess("/bin/sh", output: .file("/no/such/directory/log"))
    }
  }

  @Test("output to a file is appended")
  func file() throws {
    let path = FileManager.default.temporaryDirectory.path + "/\(UUID().uuidString).log"
    defer { try? FileManager.default.removeItem(atPath: path) }
    for word in ["one", "two"] {
      #expect(
        try ChildProcess("/bin/echo", [word], output: .file(path)).wait(seconds: hangLimitSeconds)
          == .exited(0))
    }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "one\ntwo\n")
  }
}
