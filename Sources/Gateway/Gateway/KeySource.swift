import Foundation
import Lanes
import Logging

/// Where the keys of tokens come from.
enum KeySource: Sendable {
  case file(KeyFile)
  case url(KeyURL)

  /// The keys in use.
  ///
  /// - Throws: ``Problem`` if none were fetched yet.
  var keys: KeySet {
    get throws(Problem) {
      switch self {
      case .file(let file): return file.keys
      case .url(let url):
        guard let keys = url.keys else {
          throw Problem(.keysUnavailable, "The keys of tokens were not fetched yet.")
        }
        return keys
      }
    }
  }

  /// Reads the keys again if it is time to. Meant to be called every second.
  func refresh(_ logger: Logger) async {
    switch self {
    case .file(let file): await file.refresh(logger)
    case .url(let url): await url.refresh()
    }
  }

  /// Waits on the calling thread until there are keys, or `status` says `isStopping`. A process without
  /// keys is not ready.
  func wait(_ status: LaneStatus) {
    guard case .url(let url) = self else { return }
    while url.keys == nil, !status.isStopping {
      status.beat()
      Thread.sleep(forTimeInterval: 0.1)
    }
  }

  /// The person whom the header `Authorization` proves. If its token names an unknown key, the set is
  /// fetched again, as often as that is allowed.
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
