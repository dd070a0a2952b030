import EmbeddedStack
import Foundation
import TestSupport
import Testing

/// Streams of two gateways, while processes are killed, the log is applied again and rebuilt tables are swapped in.
///
/// `MAGPIE_TEST_ACTIONS` is the least number of actions, 160 by default. Both gateways read one server: of two, one may be
/// behind the other, and a client that changes the gateway then gets older states. See docs/decisions/0037.
@Suite(
  .serialized,
  .enabled("this broker reports end offsets before the last batch of a partition") {
    try TestBroker.namesTrueEnds
  }
) struct StreamsUnderFaultsTests {
  private static let actions =
    ProcessInfo.processInfo.environment["MAGPIE_TEST_ACTIONS"].flatMap { Int($0) } ?? 160

  /// What is done with the tables, one after the other, while people act.
  private static let operations: [[String]] = [
    ["offsets", "reset", "--group", "fanout", "--to-start"],
    ["offsets", "reset", "--group", "notification", "--to-start"],
    ["offsets", "reset", "--group", "alarm", "--to-start"],
    ["replay", "--rebuild", "all"],
    ["replay", "--swap", "--wait-readers", "20"],
    ["replay", "--swap-back", "--wait-readers", "20"],
    ["replay", "--drop-old"],
  ]

  @Test("a client's states never go back, and the last ones are what the page functions return")
  func faults() async throws {
    var random = SeededGenerator()
    let stack = try await GatewayStack(waitSeconds: 60)
    defer { stack.stop() }
    try stack.startWorkers()
    let fleet = try await Fleet(stack, reading: [stack.databaseURL, stack.databaseURL])
    let star = try await Self.post(as: "star", #"{"title":"0"}"#, fleet, &random)
    let bob = try await Self.post(as: "bob", #"{"title":"one"}"#, fleet, &random)
    let starScreens = [
      "/v1/posts/\(star.id)", "/v1/posts/\(star.id)/comments?limit=200", "/v1/profiles/star",
      "/v1/home?limit=1",
    ]
    var followers = [
      Follower("star", grows: true), Follower("star", grows: true, watching: starScreens),
      Follower("ann", grows: true, watching: starScreens + ["/v1/conversations/star?limit=200"]),
      Follower("bob", grows: false, watching: ["/v1/posts/\(bob.id)", "/v1/conversations/cat"]),
    ]
    defer { for follower in followers { follower.close() } }
    var crowd = Crowd(starPost: star.id, bobPost: bob.id)
    var operations = Operations(stack, Self.operations)
    var (deadline, begun) = (ContinuousClock.now + .seconds(hangLimitSeconds), 0)
    var number = 0
    while number < Self.actions || !operations.areDone {
      try #require(ContinuousClock.now < deadline, "operation \(operations.begun) does not end")
      number += 1
      if number < Self.actions || operations.begun != begun {
        (deadline, begun) = (.now + .seconds(hangLimitSeconds), operations.begun)
      }
      for index in followers.indices {
        followers[index].take()
        guard followers[index].isDisconnected || Int.random(in: 0..<8, using: &random) == 0 else {
          continue
        }
        try followers[index].connect(
          to: fleet.gateway(Int.random(in: 0..<fleet.count, using: &random)))
      }
      let (ask, mayBeRefused) = crowd.next(&random)
      let answer = try await fleet.act(
        ask, key: "action-\(number)", after: [star.position, bob.position], &random)
      #expect(answer.status == 202 || mayBeRefused && answer.status == 404, "\(ask): \(answer)")
      crowd.take(try answer.json["id"] as? String, of: ask)
      switch Int.random(in: 0..<40, using: &random) {
      case 0: try await fleet.kill(Int.random(in: 0..<fleet.count, using: &random))
      case 1:
        let worker = GatewayStack.workers[number % GatewayStack.workers.count]
        // It may have published what it did not commit, which rebuilt tables do not have until it is
        // applied again: see docs/decisions/0030.
        guard worker != "notification-worker" || !operations.areTablesChanging else { break }
        try stack.killWorker(worker)
      default: break
      }
      if number.isMultiple(of: 20) { try operations.beginNext() }
    }
    try await Self.finish(stack, fleet, &followers)
    for follower in followers {
      #expect(follower.regressions.isEmpty, "\(follower.regressions.prefix(5))")
      #expect(follower.connections > 1)
    }
  }

  /// Waits until everything is applied and every client has caught up.
  private static func finish(
    _ stack: GatewayStack, _ fleet: Fleet, _ followers: inout [Follower]
  ) async throws {
    let verify = try stack.startTool(["verify", "--wait", hangLimitText])
    try await eventually("everything is applied") {
      for index in followers.indices { followers[index].take() }
      return !verify.child.isRunning
    }
    #expect(
      verify.child.exit == .exited(0),
      "\((try? String(contentsOfFile: verify.output, encoding: .utf8)) ?? "")")
    let connection = try stack.connection()
    var differences: [String] = []
    do {
      try await eventually("each client has what the page functions return") {
        for index in followers.indices {
          followers[index].take()
          if followers[index].isDisconnected { try followers[index].connect(to: fleet.gateway(0)) }
        }
        differences = try followers.flatMap { try $0.differences(connection) }
        return differences.isEmpty
      }
    } catch let error as TimedOut {
      Issue.record("\(error): \(differences.prefix(3).joined(separator: "\n"))")
    }
  }

  private static func post(
    as person: String, _ body: String, _ fleet: Fleet, _ random: inout SeededGenerator
  ) async throws -> (id: String, position: String) {
    let answer = try await fleet.act(
      Ask(method: "POST", path: "/v1/posts", person: person, body: body), key: "first", after: [],
      &random)
    return (
      try #require(try answer.json["id"] as? String),
      try #require(answer.headers["magpie-position"])
    )
  }
}

/// Commands of `magpie`, one at a time.
private struct Operations {
  private(set) var begun = 0
  private let stack: GatewayStack
  private let commands: [[String]]
  private var running: (child: ChildProcess, output: String)?

  init(_ stack: GatewayStack, _ commands: [[String]]) {
    (self.stack, self.commands) = (stack, commands)
  }

  var areDone: Bool { begun == commands.count && running == nil }

  /// Whether tables are rebuilt, and may be swapped.
  var areTablesChanging: Bool {
    let begun = commands.prefix(self.begun).joined()
    return begun.contains("--rebuild") && !begun.contains("--drop-old")
  }

  /// Begins the next one, unless one is running or none is left.
  mutating func beginNext() throws {
    if let running {
      guard let exit = running.child.exit else { return }
      let output = (try? String(contentsOfFile: running.output, encoding: .utf8)) ?? ""
      let command = commands[begun - 1].joined(separator: " ")
      #expect(exit == .exited(0), "\(command): \(exit): \(output)")
    }
    running = begun < commands.count ? try stack.startTool(commands[begun]) : nil
    if running != nil { begun += 1 }
  }
}
