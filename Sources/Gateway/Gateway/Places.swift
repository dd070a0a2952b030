import Synchronization

/// How many of something each key has at a time: nobody alone can take all that a gateway has. Thread-safe.
final class Places<Key: Hashable & Sendable>: Sendable {
  private let limit: Int
  private let taken = Mutex<[Key: Int]>([:])

  /// - Parameter limit: of each key; 0 is none.
  init(limit: Int) { self.limit = limit }

  /// Whether the key may have one more, which is then counted.
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
