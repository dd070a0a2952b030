import Synchronization

/// Counts how many of something each key holds and limits it, so that no single client can exhaust
/// the gateway. Thread-safe.
final class Places<Key: Hashable & Sendable>: Sendable {
  private let limit: Int
  private let taken = Mutex<[Key: Int]>([:])

  /// - Parameter limit: the maximum per key; 0 for no limit.
  init(limit: Int) { self.limit = limit }

  /// Takes a place for the key if the limit allows it; returns whether it did.
  func take(_ key: Key) -> Bool {
    taken.withLock { taken in
      let count = taken[key, default: 0]
      guard limit == 0 || count < limit else { return false }
      taken[key] = count + 1
      return true
    }
  }

  func free(_ key: Key) {
    taken.withLock { taken in
      let count = taken[key, default: 1] - 1
      taken[key] = count == 0 ? nil : count
    }
  }
}
