import EmbeddedStack
import Foundation
import Synchronization

/// A gateway behind the workers' proxies, which is restarted each time it ends. Thread-safe.
final class GatewayProcess: Sendable {
  private struct State {
    var child: ChildProcess?
    var runs = 0
    var wasKilled = false
    var unexpectedEnds: [String] = []
  }

  /// Of the API's clients, by person.
  let tokens: [String: String]
  private let path: String
  private let directory: URL
  private let environment: [String: String?]
  private let state = Mutex(State())

  /// - Parameter environment: how it reaches Kafka and PostgreSQL.
  init(_ world: World, people: [String], environment: [String: String?]) throws {
    directory = world.directory
    path = world.executables.appending(path: "magpie-gateway").path
    let keys = directory.appending(path: "keys.json").path
    func tool(_ arguments: String...) throws -> [String] {
      let (exit, output) = try world.magpie(["token"] + arguments)
      guard exit == .exited(0) else { throw CampaignError("magpie token: \(output)") }
      return output.split(separator: "\n").map(String.init)
    }
    _ = try tool("keys", keys)
    var tokens: [String: String] = [:]
    for person in people {
      tokens[person] = try tool(
        "sign", "--jwks-file", keys, "--token-issuer", "campaign", "--token-audience", "campaign",
        person
      ).last
    }
    self.tokens = tokens
    self.environment = environment.merging([
      "MAGPIE_HTTP_PORT": "0", "MAGPIE_API_PORT": "0", "MAGPIE_API_CONNECTIONS": "2",
      "MAGPIE_JWKS_FILE": keys, "MAGPIE_TOKEN_ISSUER": "campaign",
      "MAGPIE_TOKEN_AUDIENCE": "campaign", "MAGPIE_REQUESTS_PER_SECOND_PER_PERSON": "0",
      "MAGPIE_REQUESTS_PER_SECOND_PER_ADDRESS": "0",
    ]) { $1 }
  }

  /// Of the API; nil while it does not serve.
  var port: UInt16? {
    let file = state.withLock { $0.child?.isRunning == true ? log($0.runs) : nil }
    let text = file.flatMap { try? String(contentsOfFile: $0, encoding: .utf8) }
    return text.flatMap { LocalHTTP.port(in: $0, after: "serving the API") }
  }

  /// How often it was started.
  var runs: Int { state.withLock { $0.runs } }

  /// Exits that no fault explains.
  var unexpectedEnds: [String] { state.withLock { $0.unexpectedEnds } }

  /// Starts it if it is not running.
  func tend() throws {
    try state.withLock { state in
      if let exit = state.child?.exit, !state.wasKilled, state.unexpectedEnds.count < 10 {
        state.unexpectedEnds.append("magpie-gateway ended with \(exit): \(log(state.runs))")
      }
      guard state.child?.isRunning != true else { return }
      state.runs += 1
      state.wasKilled = false
      state.child = try ChildProcess(
        path, environment: environment, output: .file(log(state.runs)))
    }
  }

  func kill() {
    state.withLock { state in
      // An end that nobody asked for stays one.
      guard state.child?.isRunning == true else { return }
      state.wasKilled = true
      state.child?.signal(SIGKILL)
    }
  }

  func stop() { state.withLock { $0.child }?.terminate(SIGKILL) }

  private func log(_ run: Int) -> String {
    directory.appending(path: "magpie-gateway.\(run).log").path
  }
}
