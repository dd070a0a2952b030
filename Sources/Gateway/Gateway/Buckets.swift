/// Token buckets, one per key. A bucket holds a fixed number of seconds' worth of tokens and
/// refills over time.
///
/// Bounded: keys that have not been used for long are evicted, which makes their buckets full.
struct Buckets<Key: Hashable & Sendable>: Sendable {
  /// Tokens added to a bucket per second.
  private let perSecond: Double
  /// The time in seconds in which an empty bucket fills up.
  private let seconds: Double
  private let keys: Int
  /// When each bucket is or was full again, in seconds of the caller's clock. Kept in two
  /// generations: when the recent one reaches its bound, the older one is dropped. So the cost per
  /// key is constant, whatever the keys are.
  private var recent: [Key: Double] = [:]
  private var older: [Key: Double] = [:]

  /// - Parameters:
  ///   - perSecond: at least 1.
  ///   - keys: the maximum number of buckets in memory.
  init(perSecond: Int, seconds: Double = GatewayLimits.burstSeconds, keys: Int) {
    (self.perSecond, self.seconds, self.keys) = (Double(perSecond), seconds, keys)
  }

  /// The number of buckets in memory.
  var count: Int { recent.count + older.count }

  /// Takes a token.
  ///
  /// - Parameter now: in seconds of a monotonic clock.
  /// - Returns: nil if a token was taken; otherwise the seconds until one is available.
  mutating func take(_ key: Key, now: Double) -> Double? {
    let full = max(fullTime(of: key), now) + 1 / perSecond
    let wait = full - now - seconds
    // Tolerates differences below the precision of the clock's values.
    guard wait < 1e-6 else {
      // Keeps the key among the recent ones as long as it is used.
      set(key, fullTime(of: key))
      return wait
    }
    set(key, full)
    return nil
  }

  /// Takes several tokens, even if the bucket lacks them: it is then in debt.
  mutating func charge(_ key: Key, tokens: Int, now: Double) {
    let full = max(fullTime(of: key), now) + Double(tokens) / perSecond
    set(key, min(full, now + 2 * seconds))
  }

  private func fullTime(of key: Key) -> Double { recent[key] ?? older[key] ?? 0 }

  private mutating func set(_ key: Key, _ full: Double) {
    older[key] = nil
    if recent.count >= keys / 2, recent[key] == nil {
      older = recent
      recent = [:]
    }
    recent[key] = full
  }
}
