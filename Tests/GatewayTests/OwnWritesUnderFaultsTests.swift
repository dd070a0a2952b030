import EmbeddedStack
import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing

/// Reading one's own writes from a server and from its replica, while processes are killed and the replica is behind.
///
/// `MAGPIE_TEST_PAIRS` is the number of actions and reads, such as 100000 with a release build and a broker that keeps
/// their records.
@Suite(.serialized) struct OwnWritesUnderFaultsTests {
  private enum Fault: CaseIterable { case replayPaused, replicaLost, gatewayKilled, workerKilled }

  /// How many of the pairs are done.
  private final class Progress: Sendable {
    let total: Int
    private let done = Mutex(0)

    init(total: Int) { self.total = total }

    var count: Int { done.withLock { $0 } }
    var isComplete: Bool { count >= total }
    func add() { done.withLock { $0 += 1 } }
  }

  /// The gateway that reads from the replica.
  private static let ofReplica = 1
  private static let pairs =
    ProcessInfo.processInfo.environment["MAGPIE_TEST_PAIRS"].flatMap { Int($0) } ?? 240
  /// At the same time.
  private static let writers = min(48, max(6, pairs / 1000))

  @Test("whatever fails, an answer that is asked for what a person did shows it or is refused")
  func faults() async throws {
    var random = SeededGenerator()
    let servers = try ReplicatedServers()
    defer { servers.stop() }
    let stack = try await GatewayStack(waitSeconds: 2, databaseURL: servers.primary.url())
    defer { stack.stop() }
    try stack.startWorkers()
    let fleet = try await Fleet(stack, reading: [servers.primary.url(), servers.replica.url()])
    let each = max(1, Self.pairs / Self.writers)
    let progress = Progress(total: each * Self.writers)
    let seeds = (0...Self.writers).map { _ in random.next() }
    let stale: [String] = try await withThrowingTaskGroup(of: [String].self) { group in
      for (number, seed) in seeds.dropLast().enumerated() {
        group.addTask {
          var random = SeededGenerator(seed: seed)
          let (writer, after) = try await Self.writer("w\(number)", on: fleet, &random)
          return try await Self.perform(writer, after, each, on: fleet, progress, &random)
        }
      }
      group.addTask {
        var random = SeededGenerator(seed: seeds[Self.writers])
        try await Self.injectFaults(stack, fleet, servers, progress, &random)
        return []
      }
      return try await group.reduce(into: [String]()) { $0 += $1 }
    }
    #expect(stale.isEmpty, "\(stale.count): \(stale.prefix(5).joined(separator: "\n"))")
    // Both have answered, and the replica was caught behind.
    #expect(
      fleet.answers.allSatisfy { $0 > 0 }
        && fleet.refusals("not-applied-yet", of: Self.ofReplica) > 0)
  }

  @Test("a replica that is too far behind is not read before it has caught up")
  func staleReplica() async throws {
    let servers = try ReplicatedServers()
    defer { servers.stop() }
    let stack = try await GatewayStack(
      databaseURL: servers.primary.url(), arguments: ["--replica-seconds", "1"])
    defer { stack.stop() }
    let gateway = try await stack.startGateway(reading: servers.replica.url())
    let replica = try Connection(servers.replica.url(), applicationName: "test")
    defer { replica.close() }
    func badge() async throws -> Answer? {
      try await gateway.answer("GET", "/v1/badge", as: "ann")
    }
    try replica.script("SELECT pg_wal_replay_pause()")
    try stack.connection().script("CREATE TABLE after_the_pause ()")
    try await eventually("the replica is not read") {
      try await badge()?.problem == "database-unavailable"
    }
    #expect(gateway.log.contains("The replica is"))
    #expect(try await stack.send("GET", "/v1/badge", as: "ann").status == 200)
    try replica.script("SELECT pg_wal_replay_resume()")
    try await eventually("it is read again") { try await badge()?.status == 200 }
  }

  /// Makes what a writer's actions are about.
  ///
  /// - Returns: the writer, and the positions without which the screens are not there.
  private static func writer(
    _ name: String, on fleet: Fleet, _ random: inout SeededGenerator
  ) async throws -> (writer: Writer, after: String) {
    var positions: [String] = []
    var ids: [String] = []
    for (person, method, path, body) in [
      (name, "POST", "/v1/posts", #"{"title":"0"}"#),
      (name, "POST", "/v1/posts/POST/comments", #"{"text":"0"}"#),
      ("\(name)-mate", "POST", "/v1/posts", #"{"title":"0"}"#),
      ("\(name)-other", "PATCH", "/v1/profile", #"{"nickname":"Other"}"#),
      // An alarm is where its first like was. A page of comments' alarms would hide it.
      ("\(name)-mate", "POST", "/v1/settings/disabled", #"{"scope":"kind","kind":"F01"}"#),
    ] {
      let path = path.replacing("POST", with: ids.first ?? "")
      let did = try await fleet.act(
        Ask(method: method, path: path, person: person, body: body), key: "\(ids.count)",
        after: positions, &random)
      positions.append(try #require(did.headers["magpie-position"], "\(did)"))
      ids.append(try did.json["id"] as? String ?? "")
    }
    let writer = Writer(name, post: ids[0], comment: ids[1], matePost: ids[2])
    return (writer, positions.joined(separator: ","))
  }

  /// - Returns: the answers that do not show what was done before.
  private static func perform(
    _ writer: Writer, _ after: String, _ pairs: Int, on fleet: Fleet, _ progress: Progress,
    _ random: inout SeededGenerator
  ) async throws -> [String] {
    var writer = writer
    var stale: [String] = []
    for number in 0..<pairs {
      let pair = writer.next(&random)
      let did = try await fleet.act(
        Ask(method: pair.method, path: pair.path, person: pair.actor, body: pair.body),
        key: "\(writer.name)-\(number)", after: [after], &random)
      let position = try #require(did.headers["magpie-position"], "\(pair): \(did)")
      let seen = try await fleet.answer(
        Ask(
          path: pair.screen, person: pair.viewer,
          headers: ["Magpie-After": "\(after),\(position)"]), &random)
      if try seen.status != 200 || !pair.isShown(seen) {
        stale.append(
          "\(pair.method) \(pair.path) \(pair.body ?? "") at \(position), "
            + "\(pair.screen) for \(pair.viewer): \(seen.status) \(seen.body)")
      }
      progress.add()
    }
    return stale
  }

  /// Each kind in turn, the next one after some further pairs.
  private static func injectFaults(
    _ stack: GatewayStack, _ fleet: Fleet, _ servers: ReplicatedServers, _ progress: Progress,
    _ random: inout SeededGenerator
  ) async throws {
    let step = min(500, max(1, progress.total / 12))
    var deck: [Fault] = [.replayPaused]
    while !progress.isComplete {
      let next = progress.count + step
      try await eventually("further pairs are done") {
        progress.count >= next || progress.isComplete
      }
      if deck.isEmpty { deck = Fault.allCases.shuffled(using: &random) }
      switch deck.removeLast() {
      case .replayPaused:
        let connection = try Connection(servers.replica.url(), applicationName: "test")
        try connection.script("SELECT pg_wal_replay_pause()")
        try await refusal("not-applied-yet", fleet, progress)
        try connection.script("SELECT pg_wal_replay_resume()")
        connection.close()
      case .replicaLost:
        servers.replica.immediateStop()
        try await refusal("database-unavailable", fleet, progress)
        try servers.replica.restart()
      case .gatewayKilled: try await fleet.kill(Int.random(in: 0..<fleet.count, using: &random))
      case .workerKilled:
        let worker = GatewayStack.workers.randomElement(using: &random)
        try stack.killWorker(worker ?? "alarm-worker")
      }
    }
  }

  /// Waits until the gateway that reads from the replica refuses one more request, or none is left.
  private static func refusal(
    _ problem: String, _ fleet: Fleet, _ progress: Progress
  ) async throws {
    let before = fleet.refusals(problem, of: ofReplica)
    try await eventually("a request meets the fault") {
      fleet.refusals(problem, of: ofReplica) > before || progress.isComplete
    }
  }
}
