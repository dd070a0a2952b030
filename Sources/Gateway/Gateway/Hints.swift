import Synchronization

/// Who has streams open here, and when each stream must look again. Thread-safe.
///
/// A hint holds nothing but that a person may have something new: what a stream sends is always read from
/// PostgreSQL. So hints may be lost, repeated or early without harm, and none is queued: a stream that is
/// still writing looks once afterwards.
final class Hints: Sendable {
  /// A subscription's wakes.
  struct Subscription: Sendable {
    var wakes: AsyncStream<Void>
    fileprivate var id: UInt64
    fileprivate var person: BytewiseKey
  }

  /// Ids are compared byte by byte.
  fileprivate struct BytewiseKey: Hashable, Sendable {
    var bytes: [UInt8]

    init(_ person: String) { bytes = Array(person.utf8) }
  }

  private struct Stream {
    var continuation: AsyncStream<Void>.Continuation
    var mustLook = true
  }

  private struct State {
    var nextID: UInt64 = 0
    var streams: [BytewiseKey: [UInt64: Stream]] = [:]
    /// People for whom a look is scheduled, and whether there was another hint since.
    var scheduled: [BytewiseKey: Bool] = [:]
    var isClosed = false
  }

  private let state = Mutex(State())

  /// A record can be published before it is committed, and applied later than it is published: after a
  /// hint, streams look at these times.
  private static let delays: [Duration] = [
    .milliseconds(25), .milliseconds(100), .milliseconds(400), .seconds(1), .seconds(4),
  ]

  /// The first wake comes at once. Ends with ``close()`` or ``unsubscribe(_:)``.
  func subscribe(_ person: String) -> Subscription {
    let key = BytewiseKey(person)
    let (wakes, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      state.nextID += 1
      state.streams[key, default: [:]][state.nextID] = Stream(continuation: continuation)
      if state.isClosed { continuation.finish() }
      return state.nextID
    }
    continuation.yield()
    return Subscription(wakes: wakes, id: id, person: key)
  }

  /// Ends its wakes.
  func unsubscribe(_ subscription: Subscription) {
    let stream = state.withLock { state in
      let stream = state.streams[subscription.person]?.removeValue(forKey: subscription.id)
      if state.streams[subscription.person]?.isEmpty == true {
        state.streams[subscription.person] = nil
      }
      return stream
    }
    stream?.continuation.finish()
  }

  /// Whether the wake was to look, and not only to show that the connection lives.
  func takeLook(_ subscription: Subscription) -> Bool {
    state.withLock { state in
      let mustLook = state.streams[subscription.person]?[subscription.id]?.mustLook ?? false
      state.streams[subscription.person]?[subscription.id]?.mustLook = false
      return mustLook
    }
  }

  /// Something may change for the person soon, or may just have changed.
  func hint(_ person: String) {
    let key = BytewiseKey(person)
    let isNew = state.withLock { state in
      guard state.streams[key] != nil else { return false }
      return state.scheduled.updateValue(true, forKey: key) == nil
    }
    guard isNew else { return }
    Task {
      // Once more from the beginning if there was a hint meanwhile.
      while takeScheduled(key) {
        var passed = Duration.zero
        for delay in Self.delays {
          try? await Task.sleep(for: delay - passed)
          passed = delay
          wake([key], look: true)
          if state.withLock({ $0.scheduled[key] ?? false }) { break }
        }
      }
    }
  }

  private func takeScheduled(_ key: BytewiseKey) -> Bool {
    state.withLock { state in
      if state.scheduled[key] == true, state.streams[key] != nil {
        state.scheduled[key] = false
        return true
      }
      state.scheduled[key] = nil
      return false
    }
  }

  /// Wakes every stream.
  ///
  /// - Parameter look: whether they look, too; for hints that may have been lost.
  func wakeAll(look: Bool) {
    wake(state.withLock { Array($0.streams.keys) }, look: look)
  }

  /// Ends all streams, and those that come.
  func close() {
    let streams = state.withLock { state in
      state.isClosed = true
      return state.streams.values.flatMap(\.values)
    }
    for stream in streams { stream.continuation.finish() }
  }

  private func wake(_ keys: [BytewiseKey], look: Bool) {
    for key in keys {
      let continuations = state.withLock { state in
        for id in state.streams[key]?.keys.sorted() ?? [] where look {
          state.streams[key]?[id]?.mustLook = true
        }
        return state.streams[key]?.values.map(\.continuation) ?? []
      }
      for continuation in continuations { continuation.yield() }
    }
  }
}
