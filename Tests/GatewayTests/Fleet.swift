import EmbeddedStack
import Events
import Foundation
import Synchronization
import TestSupport

/// One request of a person.
struct Ask: Sendable {
  var method = "GET"
  var path: String
  var person: String
  var headers: [String: String] = [:]
  var body: String?
}

/// Gateways of one stack, each of which reads a server of its own, may be killed, and comes back at another port.
final class Fleet: Sendable {
  private struct State {
    var gateways: [GatewayProcess]
    /// Each gateway's answers that ask for another try, by their problem.
    var refusals: [[String: Int]]
    /// Its other answers.
    var answers: [Int]
  }

  /// The problems after which a client repeats its request.
  private static let passing: Set<String> = [
    "not-applied-yet", "not-acknowledged", "database-unavailable", "overloaded",
    "keys-unavailable",
  ]

  private let stack: GatewayStack
  private let databases: [String]
  private let state: Mutex<State>

  init(_ stack: GatewayStack, reading databases: [String]) async throws {
    (self.stack, self.databases) = (stack, databases)
    var gateways: [GatewayProcess] = []
    for url in databases { gateways.append(try await stack.startGateway(reading: url)) }
    let started = State(
      gateways: gateways, refusals: databases.map { _ in [:] }, answers: databases.map { _ in 0 })
    state = Mutex(started)
  }

  var count: Int { databases.count }
  var answers: [Int] { state.withLock { $0.answers } }

  func gateway(_ number: Int) -> GatewayProcess { state.withLock { $0.gateways[number] } }

  func refusals(_ problem: String, of number: Int) -> Int {
    state.withLock { $0.refusals[number][problem, default: 0] }
  }

  /// Kills a gateway, and starts it again.
  func kill(_ number: Int) async throws {
    gateway(number).child.terminate(SIGKILL)
    let next = try await stack.startGateway(reading: databases[number])
    state.withLock { $0.gateways[number] = next }
  }

  /// Sends the request to any of the gateways until one answers it with other than a passing problem.
  func answer(_ ask: Ask, _ random: inout SeededGenerator) async throws -> Answer {
    var answered: Answer?
    try await eventually("\(ask.method) \(ask.path) is answered") {
      let number = Int.random(in: 0..<count, using: &random)
      do {
        let answer = try await gateway(number).answer(
          ask.method, ask.path, as: ask.person, headers: ask.headers, body: ask.body)
        // A gateway that is killed may have sent a part.
        guard let answer, answer.isWhole else { return false }
        answered = take(answer, from: number) ? answer : nil
      } catch is NoConnection {
        return false
      }
      return answered != nil
    }
    guard let answered else { throw StackError("no answer to \(ask)") }
    return answered
  }

  /// What a person does now: one event, however often the request is repeated.
  ///
  /// - Parameters:
  ///   - key: no other action of this kind by the person has it.
  ///   - positions: what must be applied before the post of the action is read.
  func act(
    _ ask: Ask, key: String, after positions: [String], _ random: inout SeededGenerator
  ) async throws -> Answer {
    var ask = ask
    ask.headers = ["Idempotency-Key": key, "Magpie-Time": EventTime.now.rfc3339]
    if !positions.isEmpty { ask.headers["Magpie-After"] = positions.joined(separator: ",") }
    return try await answer(ask, &random)
  }

  /// Counts an answer; false if it asks for another try.
  private func take(_ answer: Answer, from number: Int) -> Bool {
    state.withLock { state in
      if answer.status == 503, let problem = answer.problem, Self.passing.contains(problem) {
        state.refusals[number][problem, default: 0] += 1
        return false
      }
      state.answers[number] += 1
      return true
    }
  }
}

extension Answer {
  /// Whether everything has come that `Content-Length` promises.
  fileprivate var isWhole: Bool {
    headers["content-length"].flatMap { Int($0) } == bytes.count
  }
}
