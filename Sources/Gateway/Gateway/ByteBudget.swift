import Synchronization

/// Bounds the bytes that people make the gateway hold, of each person and of all. Thread-safe.
final class ByteBudget: Sendable {
  enum Taking {
    /// They are held as long as the place exists.
    case taken(Place)
    case ownShareIsTaken
    case allIsTaken
  }

  private let all: Int
  private let each: Int
  private let held = Mutex((people: [[UInt8]: Int](), all: 0))

  init(all: Int, each: Int) { (self.all, self.each) = (all, each) }

  /// Takes bytes for a person. Whoever holds none may exceed their share, so that nothing is too
  /// large for it.
  func take(_ bytes: Int, of person: String) -> Taking {
    let key = Array(person.utf8)
    let refusal: Taking? = held.withLock { held in
      let own = held.people[key, default: 0]
      // Sums of what clients declare could overflow.
      guard own == 0 || bytes <= each - own else { return .ownShareIsTaken }
      guard held.all == 0 || bytes <= all - held.all else { return .allIsTaken }
      held.people[key] = own + bytes
      held.all += bytes
      return nil
    }
    if let refusal { return refusal }
    return .taken(
      Place { [self] in
        held.withLock { held in
          let left = held.people[key, default: bytes] - bytes
          held.people[key] = left == 0 ? nil : left
          held.all -= bytes
        }
      })
  }
}

/// Frees its place when the last reference is gone, also if the client left before the response
/// began.
final class Place: Sendable {
  private let free: @Sendable () -> Void

  init(_ free: @escaping @Sendable () -> Void) { self.free = free }

  deinit { free() }
}
