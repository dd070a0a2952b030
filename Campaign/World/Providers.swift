import FaultInjection
import Foundation
import LocalProviders
import Postgres
import Synchronization

/// Apple, Google and the receiver of webhooks, in the campaign's own process. Thread-safe.
final class Providers: Sendable {
  /// Answers a request in another way than the provider's rules; nil follows them.
  typealias Script = @Sendable (PushRequest) async -> PushReply?

  private struct State {
    var scripts: [PlannedFault: Script] = [:]
    var gone: Set<String> = []
    var refused: [PushRequest] = []
    var disturbed = 0
  }

  /// Requests that were accepted, in order.
  private final class Accepted: Sendable {
    let requests = Mutex<[PushRequest]>([])
  }

  let server: ProviderServer
  /// The environment of push-worker.
  let environment: [String: String?]
  /// The beginning of webhooks' URLs.
  let hooks: String
  /// push-worker's connections go through it.
  let proxy: PostgresProxy
  private let clock: HourClock
  private let taken = Accepted()
  private let state = Mutex(State())

  /// Serves, and writes credentials for it.
  init(clock: HourClock, directory: URL) throws {
    self.clock = clock
    server = try ProviderServer(
      observe: { [taken] request, _ in taken.requests.withLock { $0.append(request) } },
      clock: { Date(timeIntervalSince1970: Double(clock.pushNow.microseconds) / 1_000_000) })
    // It forwards any bytes: what is encrypted is no COMMIT.
    proxy = try PostgresProxy(to: "host=127.0.0.1 port=\(Self.serve(server))")
    let port = Int(try ConnectionInfo(proxy.url)["port"] ?? "") ?? 0
    hooks = "https://localhost:\(port)/hook/"
    environment = [
      "MAGPIE_PUSH_CONFIG": directory.appending(path: "push.json").path,
      "MAGPIE_TOKEN_KEYS_FILE": directory.appending(path: "token.keys").path,
    ]
    try server.writeCredentials(to: directory, host: "localhost", port: port)
    let secrets = (1...2).map { Data(repeating: $0, count: 32).base64EncodedString() }
    try "fingerprint \(secrets[0])\nseal campaign \(secrets[1])\n".write(
      to: directory.appending(path: "token.keys"), atomically: true, encoding: .utf8)
    server.answer { [weak self] request in await self?.reply(to: request) }
  }

  /// The requests that were accepted, in order.
  var accepted: [PushRequest] { taken.requests.withLock { $0 } }
  /// The requests to tokens that are gone, in order.
  var refused: [PushRequest] { state.withLock { $0.refused } }
  /// How many requests were not answered by the rules.
  var disturbed: Int { state.withLock { $0.disturbed } }

  /// Stops listening. The campaign's process may end afterwards, but not serve again.
  func stop() { proxy.close() }

  func begin(_ fault: PlannedFault, _ script: @escaping Script) {
    state.withLock { $0.scripts[fault] = script }
  }

  func end(_ fault: PlannedFault) { state.withLock { $0.scripts[fault] = nil } }

  /// From now on, the device has deleted the app.
  func lose(_ address: String) { state.withLock { _ = $0.gone.insert(address) } }

  private func reply(to request: PushRequest) async -> PushReply? {
    let (isGone, scripts) = state.withLock { state in
      let isGone = state.gone.contains(request.address)
      if isGone { state.refused.append(request) }
      return (isGone, Array(state.scripts.values))
    }
    if isGone {
      let since = clock.pushNow.microseconds / 1000
      return PushReply(410, #"{"reason":"Unregistered","timestamp":\#(since)}"#)
    }
    for script in scripts {
      guard let reply = await script(request) else { continue }
      state.withLock { $0.disturbed += 1 }
      return reply
    }
    return nil
  }

  /// Serves until the process ends.
  ///
  /// - Returns: the port.
  private static func serve(_ server: ProviderServer) throws -> Int {
    final class Started: Sendable {
      let semaphore = DispatchSemaphore(value: 0)
      let port = Mutex<Int?>(nil)
    }
    let started = Started()
    Task.detached {
      defer { started.semaphore.signal() }
      try await server.run { port in
        started.port.withLock { $0 = port }
        started.semaphore.signal()
      }
    }
    started.semaphore.wait()
    guard let port = started.port.withLock({ $0 }) else {
      throw CampaignError("the providers cannot listen")
    }
    return port
  }
}
