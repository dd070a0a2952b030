import Foundation
import Lanes
import Logging

/// The source of the keys that sign tokens.
enum KeySource: Sendable {
  case file(KeyFile)
  case url(KeyURL)

  /// The keys in use.
  ///
  /// - Throws: ``Problem`` if none have been fetched yet.
  var keys: KeySet {
    get throws(Problem) {
      switch self {
      case .file(let file): return file.keys
      case .url(let url):
        guard let keys = url.keys else {
          throw Problem(.keysUnavailable, "The key set has not been fetched yet.")
        }
        return keys
      }
    }
  }

  /// Reloads the keys if they have changed or are due. Meant to be called every second.
  func refresh(_ logger: Logger) async {
    switch self {
    case .file(let file): await file.refresh(logger)
    case .url(let url): await url.refresh()
    }
  }

  /// Blocks the calling thread until there are keys, or `status` says `isStopping`. A process
  /// without keys is not ready.
  func wait(_ status: LaneStatus) {
    guard case .url(let url) = self else { return }
    while url.keys == nil, !status.isStopping {
      status.beat()
      Thread.sleep(forTimeInterval: 0.1)
    }
  }

  /// Verifies the token in the header `Authorization`. If it names an unknown key, the key set is
  /// fetched again, at most as often as ``KeyURL`` allows, and the token is verified once more.
  ///
  /// - Throws: ``Problem``.
  func identity(_ authorization: String?, _ rules: TokenRules) async throws(Problem) -> Identity {
    do throws(Problem) {
      return try rules.identity(authorization: authorization, keys: keys)
    } catch {
      guard error == TokenRules.unknownKey, case .url(let url) = self else { throw error }
      await url.refreshForUnknownKey()
      return try rules.identity(authorization: authorization, keys: keys)
    }
  }
}
