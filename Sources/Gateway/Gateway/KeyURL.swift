import Foundation
import Logging
import Synchronization

/// The key set at a URL, fetched on a schedule, and soon when a token names a key that is not in it.
/// Thread-safe.
///
/// What was fetched last and could be used stays in use, however long the URL fails.
final class KeyURL: Sendable {
  private struct State: Sendable {
    var keys: KeySet?
    /// The fetch that is under way.
    var fetch: Task<Void, Never>?
    var lastStart: ContinuousClock.Instant?
    var failures = 0
  }

  private let fetch: @Sendable () async throws -> Data
  private let logger: Logger
  private let state = Mutex(State())

  /// - Parameter fetch: the bytes at the URL, in bounded time and number.
  init(logger: Logger, fetch: @escaping @Sendable () async throws -> Data) {
    (self.fetch, self.logger) = (fetch, logger)
  }

  /// The keys in use; nil before the first set.
  var keys: KeySet? { state.withLock { $0.keys } }

  /// Fetches the set if it is time to: after ``GatewayLimits/keysSeconds``, or earlier and earlier again if
  /// that failed.
  func refresh(now: ContinuousClock.Instant = .now) async {
    await fetched(now) { state in
      guard state.failures > 0 else { return .seconds(GatewayLimits.keysSeconds) }
      return .seconds(
        min(
          GatewayLimits.keysRetrySeconds << min(state.failures - 1, 10), GatewayLimits.keysSeconds))
    }
  }

  /// Fetches the set, or waits for the fetch under way, because a token names a key that is not in it;
  /// but not if it was fetched within ``GatewayLimits/unknownKeySeconds``, because anybody can name one.
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
        level: isFirst ? .info : .debug, "fetched the keys of tokens",
        metadata: ["keys": "\(keys.keys.count)", "ignored": "\(keys.ignored)"])
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

/// A URL from which keys may come: https, or http on this machine, where nobody is in between.
///
/// - Returns: nil for any other, and with a user or password, which would be in logs.
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

/// The bytes of a key set.
///
/// - Throws: as ``fetched(_:accept:bytesMax:seconds:)``.
func keySetBytes(at url: URL) async throws -> Data {
  try await fetched(
    url, accept: "application/jwk-set+json, application/json",
    bytesMax: GatewayLimits.keyFileBytes, seconds: GatewayLimits.keysFetchSeconds)
}
