import Crypto
import Foundation
import Synchronization

/// Whom tokens prove that a key set's keys have signed, so that the next request with one costs a hash
/// instead of a verification. Thread-safe.
///
/// Each key set has its own, so the tokens of a key that is rotated away go with the set. Tokens themselves
/// are not kept, and wrong ones never are.
final class VerifiedTokens: Sendable {
  /// One token, under the rules that accepted it.
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

  /// nil if the token was not verified, was forgotten, or has expired at `now`.
  func identity(_ key: Key, now: Double) -> Identity? {
    identities.withLock { identities in
      guard let identity = identities[key], identity.expires > now else {
        identities[key] = nil
        return nil
      }
      return identity
    }
  }

  /// Remembers a token that was verified. If there are too many, all others are forgotten.
  func keep(_ identity: Identity, _ key: Key) {
    identities.withLock { identities in
      if identities.count >= limit { identities.removeAll() }
      identities[key] = identity
    }
  }
}
