import Crypto
import Foundation
import Synchronization

/// A cache of the identities of tokens that a key set has verified, so that further requests with a
/// token cost a hash instead of a signature verification. Thread-safe.
///
/// Each key set has its own cache, so when a set is replaced, the cache entries go with it. Tokens
/// themselves are not stored, and invalid tokens are never cached.
final class VerifiedTokens: Sendable {
  /// A token, together with the rules that accepted it.
  struct Key: Hashable, Sendable {
    private let digest: SHA256Digest
    private let rules: TokenRules

    init(_ token: Substring, _ rules: TokenRules) {
      digest = SHA256.hash(data: Data(token.utf8))
      self.rules = rules
    }
  }

  private let limit: Int
  private let identities = Mutex<[Key: Identity]>([:])

  init(limit: Int = GatewayLimits.verifiedTokens) { self.limit = limit }

  /// The number of tokens.
  var count: Int { identities.withLock { $0.count } }

  /// Nil if the token has not been verified, was evicted, or has expired at `now`.
  func identity(_ key: Key, now: Double) -> Identity? {
    identities.withLock { identities in
      guard let identity = identities[key], identity.expires > now else {
        identities[key] = nil
        return nil
      }
      return identity
    }
  }

  /// Caches a verified token. If the cache is full, it is cleared first.
  func keep(_ identity: Identity, _ key: Key) {
    identities.withLock { identities in
      if identities.count >= limit { identities.removeAll() }
      identities[key] = identity
    }
  }
}
