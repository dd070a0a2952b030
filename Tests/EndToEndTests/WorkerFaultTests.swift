import EmbeddedStack
import Events
import Foundation
import Kafka
import TestSupport
import Testing

/// Faults around a worker: of its log, its database and its process.
@Suite(.serialized) struct WorkerFaultTests {
  /// Runs `fanout-worker` with a shell command in which `"$@"` is the worker.
  private func worker(_ line: String, _ stack: Stack, _ arguments: [String] = []) throws
    -> (process: ChildProcess, port: UInt16)
  {
    let port = try unusedPort()
    let process = try ChildProcess(
      "/bin/sh",
      ["-c", line, "sh", builtExecutable("fanout-worker"), "--http-port", "\(port)"] + arguments,
      environment: stack.environment)
    return (process, port)
  }

  private func isReady(_ port: UInt16) -> Bool { get("/readyz", port)?.status == 200 }

  private func get(_ path: String, _ port: UInt16) -> LocalHTTP.Answer? {
    LocalHTTP.get(path, port: port, timeoutSeconds: 10, bytesMax: 1 << 20)
  }

  private func unusedPort() throws -> UInt16 {
    let descriptor = socket(AF_INET, streamSocket, 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
      }
    }
    try #require(isBound)
    return UInt16(bigEndian: address.sin_port)
  }

  private func publish(_ values: [(key: String, value: [UInt8], headers: [Header])], _ stack: Stack)
    throws
  {
    let producer = try Producer(configuration: TestBroker.shared.configuration)
    defer { producer.close() }
    try producer.send(
      values.map {
        OutgoingRecord(
          topic: Topic.posts.name(prefix: stack.prefix), key: Array($0.key.utf8), value: $0.value,
          headers: $0.headers)
      })
  }

  private func publishPost(_ name: String, _ stack: Stack) throws {
    let post = Payload.post(name, by: "author")
    let wire = try EventCodec.encode(
      Event(id: name, source: "test", time: .now, payload: post), as: .json)
    try publish([("author", wire.value ?? [], wire.headers)], stack)
  }

  #if os(Linux)
    @Test(
      "a worker whose log cannot be written continues, and counts the lost lines",
      arguments: [
        #"exec "$@" 2> /dev/full"#,
        // A pipe whose only reader has exited.
        #"f=$(mktemp -u) && mkfifo "$f" && { true < "$f" & } && exec "$@" 2> "$f""#,
      ])
    func deafLog(line: String) async throws {
      let stack = try Stack(partitions: 1)
      defer { stack.stop() }
      let (process, port) = try worker(line, stack)
      defer { process.terminate() }
      try await eventually("ready") { isReady(port) }
      try publishPost("one", stack)
      let connection = try stack.connection()
      try await eventually("the post") {
        try connection.query("SELECT count(*) FROM posts").only.int(0) == 1
      }
      let metrics = get("/metrics", port)?.body ?? ""
      let lost = metrics.firstMatch(of: /\nmagpie_log_lines_lost_total (\d+)\n/)
        .flatMap { Int($0.1) }
      #expect((lost ?? 0) > 0)
      #expect(process.terminate(within: hangLimitSeconds) == .exited(0))
    }
  #endif

  @Test("an idle worker is not ready while its database is down, and ready afterwards")
  func databaseGone() async throws {
    let stack = try Stack(partitions: 1)
    defer { stack.stop() }
    guard let cluster = stack.cluster else { return }  // An external server must not be stopped.
    let (process, port) = try worker(#"exec "$@""#, stack)
    defer { process.terminate() }
    try await eventually("ready") { isReady(port) }
    cluster.stop()
    try await eventually("unready") { get("/readyz", port)?.status == 503 }
    #expect(get("/metrics", port)?.body.contains("\nmagpie_ready 0\n") == true)
    try cluster.restart()
    try await eventually("ready again") { isReady(port) }
    #expect(get("/metrics", port)?.body.contains("\nmagpie_ready 1\n") == true)
    #expect(process.terminate(within: hangLimitSeconds) == .exited(0))
  }

  @Test("a worker that is stopped while its batch waits for a lock rolls back and exits with 0")
  func stoppedAtLock() async throws {
    let stack = try Stack(partitions: 1)
    defer { stack.stop() }
    let (process, port) = try worker(#"exec "$@""#, stack, ["--drain-seconds", "10"])
    defer { process.terminate(9) }
    try await eventually("ready") { isReady(port) }
    let holder = try stack.connection()
    try holder.script("BEGIN; LOCK TABLE posts IN ACCESS EXCLUSIVE MODE")
    try publishPost("one", stack)
    try await eventually("the wait") {
      try holder.query(
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'posts'::regclass"
      ).only.int(0) > 0
    }
    #expect(process.terminate(within: hangLimitSeconds) == .exited(0))
    try holder.query("ROLLBACK")
    #expect(try holder.query("SELECT count(*) FROM posts").only.int(0) == 0)
    let next = try stack.start("fanout-worker")
    try await eventually("the post") {
      try holder.query("SELECT count(*) FROM posts").only.int(0) == 1
    }
    #expect(next.terminate(within: hangLimitSeconds) == .exited(0))
  }

  @Test("a worker that cannot finish its batch exits with 1 and says what its lanes are doing")
  func stoppedByDeafDatabase() async throws {
    let stack = try Stack(partitions: 1)
    defer { stack.stop() }
    // The processes of an external server are elsewhere.
    guard stack.cluster != nil else { return }
    let process = try stack.start("fanout-worker", arguments: ["--drain-seconds", "1"])
    let holder = try stack.connection()
    try holder.script("BEGIN; LOCK TABLE posts IN ACCESS EXCLUSIVE MODE")
    try publishPost("one", stack)
    var waiting: Int32?
    try await eventually("the wait") {
      waiting = try holder.query(
        "SELECT pid FROM pg_locks WHERE NOT granted AND relation = 'posts'::regclass"
      ).first.map { Int32(try $0.int(0)) }
      return waiting != nil
    }
    let server = try #require(waiting)
    kill(server, SIGSTOP)
    defer { kill(server, SIGCONT) }
    #expect(process.terminate(within: hangLimitSeconds) == .exited(1))
    let log = stack.log(of: "fanout-worker")
    #expect(log.contains("the batch in hand did not finish"), "\(log)")
    #expect(log.contains(/lanes=(committing a batch|working on the backlog)\n/), "\(log)")
  }

  @Test(
    "a worker that is killed repeatedly writes no more dead letters in a row than one that is not")
  func crashLoop() async throws {
    let stack = try Stack(partitions: 1)
    defer { stack.stop() }
    let connection = try stack.connection()
    func letters() throws -> Int {
      try connection.query("SELECT count(*) FROM dead_letters").only.int(0)
    }
    for round in 1...2 {
      let (process, _) = try worker(#"exec "$@""#, stack, ["--dead-letter-run-limit", "20"])
      defer { process.terminate(9) }
      try publish((0..<9).map { _ in ("k", Array("no event".utf8), []) }, stack)
      try await eventually("dead letters") { try letters() == 9 * round }
    }
    try publish((0..<9).map { _ in ("k", Array("no event".utf8), []) }, stack)
    let (process, _) = try worker(#"exec "$@""#, stack, ["--dead-letter-run-limit", "20"])
    defer { process.terminate(9) }
    try await eventually("its end") { !process.isRunning }
    #expect(process.exit != .exited(0))
    #expect(try letters() < 20)
    // Another start changes nothing.
    let (again, _) = try worker(#"exec "$@""#, stack, ["--dead-letter-run-limit", "20"])
    defer { again.terminate(9) }
    try await eventually("its end") { !again.isRunning }
    #expect(try letters() < 20)
  }
}

#if os(Linux)
  private let streamSocket = Int32(SOCK_STREAM.rawValue)
#else
  private let streamSocket = SOCK_STREAM
#endif
