/// Token buckets, one for each key: each holds so many seconds' worth of tokens, and fills again as time
/// passes.
///
/// Bounded: keys that were not used for long are forgotten, which makes their buckets full.
struct Buckets<Key: Hashable & Sendable>: Sendable {
  /// Tokens that a bucket gains per second.
  private let perSecond: Double
  /// The seconds after which an empty bucket is full.
  private let seconds: Double
  private let keys: Int
  /// When each bucket is or was full again, in seconds of the caller's clock. Of two halves, the older one is
  /// dropped when the other one is at its bound: this costs the same for each key, whatever they are.
  private var recent: [Key: Double] = [:]
  private var older: [Key: Double] = [:]

  /// - Parameters:
  ///   - perSecond: at least 1.
  ///   - keys: the most buckets that are remembered.
  init(perSecond: Int, seconds: Double = GatewayLimits.burstSeconds, keys: Int) {
    (self.perSecond, self.seconds, self.keys) = (Double(perSecond), seconds, keys)
  }

  /// The number of buckets in memory.
  var count: Int { recent.count + older.count }

  /// Takes a token.
  ///
  /// - Parameter now: in seconds of a clock that never goes back.
  /// - Returns: the seconds until there is one, if there is none; nothing was taken then.
  mutating func take(_ key: Key, now: Double) -> Double? {
    let full = max(fullTime(of: key), now) + 1 / perSecond
    let wait = full - now - seconds
    // Less than what the clock's numbers can tell.
    guard wait < 1e-6 else {
      // Not forgotten as long as it keeps asking.
      set(key, fullTime(of: key))
      return wait
    }
    set(key, full)
    return nil
  }

  /// Takes more tokens, even if there are none: the bucket is then in debt.
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
