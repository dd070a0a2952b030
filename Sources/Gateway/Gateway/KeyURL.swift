import Foundation
import Logging
import Synchronization

/// A key set at a URL, fetched periodically, and ahead of schedule when a token names an unknown
/// key. Thread-safe.
///
/// The last valid set stays in use, however long fetching fails.
final class KeyURL: Sendable {
  private struct State: Sendable {
    var keys: KeySet?
    /// The fetch in progress.
    var fetch: Task<Void, Never>?
    var lastStart: ContinuousClock.Instant?
    var failures = 0
  }

  private let fetch: @Sendable () async throws -> Data
  private let logger: Logger
  private let state = Mutex(State())

  /// - Parameter fetch: downloads the key set; must be bounded in time and size.
  init(logger: Logger, fetch: @escaping @Sendable () async throws -> Data) {
    (self.fetch, self.logger) = (fetch, logger)
  }

  /// The keys in use; nil before the first set.
  var keys: KeySet? { state.withLock { $0.keys } }

  /// Fetches the set if it is time to: after ``GatewayLimits/keysSeconds``. After a failure, the
  /// delay begins at ``GatewayLimits/keysRetrySeconds`` and doubles up to that.
  func refresh(now: ContinuousClock.Instant = .now) async {
    await fetched(now) { state in
      guard state.failures > 0 else { return .seconds(GatewayLimits.keysSeconds) }
      return .seconds(
        min(
          GatewayLimits.keysRetrySeconds << min(state.failures - 1, 10), GatewayLimits.keysSeconds))
    }
  }

  /// Fetches the set, or waits for a fetch in progress, because a token names an unknown key. Does
  /// nothing within ``GatewayLimits/unknownKeySeconds`` of the last fetch, because any client can
  /// name an unknown key.
  func refreshForUnknownKey(now: ContinuousClock.Instant = .now) async {
    await fetched(now) { _ in .seconds(GatewayLimits.unknownKeySeconds) }
  }

  private func fetched(
    _ now: ContinuousClock.Instant, unlessWithin limit: (State) -> Duration
  ) async {
    let fetch = state.withLock { state -> Task<Void, Never>? in
      if let fetch = state.fetch { return fetch }
      if let last = state.lastStart, now - last < limit(state) { return nil }
      state.lastStart = now
      let fetch = Task { await replaceKeys() }
      state.fetch = fetch
      return fetch
    }
    await fetch?.value
  }

  private func replaceKeys() async {
    do {
      let keys = try await KeySet(json: try await fetch())
      let isFirst = state.withLock { state in
        defer { (state.keys, state.fetch, state.failures) = (keys, nil, 0) }
        return state.keys == nil
      }
      logger.log(
        level: !keys.unusable.isEmpty ? .warning : isFirst ? .info : .debug,
        "fetched the keys of tokens", metadata: keys.metadata)
    } catch {
      let hasKeys = state.withLock { state in
        (state.fetch, state.failures) = (nil, state.failures + 1)
        return state.keys != nil
      }
      logger.error(
        hasKeys
          ? "the keys of tokens could not be fetched, and stay in use"
          : "the keys of tokens could not be fetched: no token is accepted",
        metadata: ["error": "\(error)"])
    }
  }
}

/// Parses a URL from which keys may be fetched: https, or http on this machine, where nobody can
/// intercept it.
///
/// - Returns: nil for any other URL, and for one with a user or password, which would appear in
///   logs.
func keyURL(_ text: String) -> URL? {
  guard let url = URL(string: text), let host = url.host(), !host.isEmpty, url.user == nil,
    url.password == nil, url.fragment == nil
  else { return nil }
  switch url.scheme?.lowercased() {
  case "https": return url
  case "http": return ["127.0.0.1", "::1", "[::1]", "localhost"].contains(host) ? url : nil
  default: return nil
  }
}

/// Downloads a key set.
///
/// - Throws: as ``fetched(_:accept:bytesMax:seconds:)``.
func keySetBytes(at url: URL) async throws -> Data {
  try await fetched(
    url, accept: "application/jwk-set+json, application/json",
    bytesMax: GatewayLimits.keyFileBytes, seconds: GatewayLimits.keysFetchSeconds)
}
