import Events
import Synchronization

/// Which streams are open here, what they show, and at what each must look again. Thread-safe.
///
/// What one person alone sees is looked at once a worker has applied the hint's record, which ``follow(_:)`` finds out.
/// What many see is looked at now and then after a hint.
///
/// A hint holds nothing but that a subject may have something new: what a stream sends is always read from
/// PostgreSQL. So hints may be lost, repeated or early without harm, and wakes are not queued: a stream that is
/// still writing looks once afterwards.
final class Hints: Sendable {
  /// A subscription's wakes.
  struct Subscription: Sendable {
    var wakes: AsyncStream<Void>
    fileprivate var id: UInt64
  }

  struct Stream {
    var continuation: AsyncStream<Void>.Continuation
    var subjects: Set<Subject>
    /// At what the next look is.
    var pending = StreamScreens.all
    /// At what it looks soon, unless it does before.
    var owed: StreamScreens = []
    /// Whether it has to show that the connection lives.
    var owesComment = false
  }

  struct State {
    var nextID: UInt64 = 0
    var streams: [UInt64: Stream] = [:]
    var watching: [Subject: Set<UInt64>] = [:]
    /// Those for which looks are scheduled, and whether there was another one since.
    var scheduled: [Hint: Bool] = [:]
    var unapplied = UnappliedHints()
    var isClosed = false

    mutating func watch(_ subjects: Set<Subject>, for id: UInt64) {
      guard streams[id] != nil else { return }
      streams[id]?.subjects.formUnion(subjects)
      for subject in subjects { watching[subject, default: []].insert(id) }
    }
  }

  let state = Mutex(State())
  /// Yields when a hint begins to wait for its record, and ends with ``close()``.
  let (arrivals, arrived) = AsyncStream.makeStream(
    of: Void.self, bufferingPolicy: .bufferingNewest(1))
  let pause: @Sendable (Duration) async -> Void

  init(
    pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) {
    self.pause = pause
  }

  /// The first wake comes at once. Ends with ``close()`` or ``unsubscribe(_:)``.
  func subscribe(_ person: String) -> Subscription {
    let (wakes, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      state.nextID += 1
      state.streams[state.nextID] = Stream(continuation: continuation, subjects: [])
      state.watch([.person(person)], for: state.nextID)
      if state.isClosed { continuation.finish() }
      return state.nextID
    }
    continuation.yield()
    return Subscription(wakes: wakes, id: id)
  }

  /// Wakes the stream for hints of these subjects, too.
  func watch(_ subjects: Set<Subject>, _ subscription: Subscription) {
    state.withLock { $0.watch(subjects, for: subscription.id) }
  }

  /// Ends its wakes.
  func unsubscribe(_ subscription: Subscription) {
    let stream = state.withLock { state in
      let stream = state.streams.removeValue(forKey: subscription.id)
      for subject in stream?.subjects ?? [] {
        state.watching[subject]?.remove(subscription.id)
        if state.watching[subject]?.isEmpty == true { state.watching[subject] = nil }
      }
      return stream
    }
    stream?.continuation.finish()
  }

  /// Whether the wake was to look, and not only to show that the connection lives.
  func hasLook(_ subscription: Subscription) -> Bool {
    state.withLock { $0.streams[subscription.id]?.pending.isEmpty == false }
  }

  /// At what to look now. What is hinted from here on is for the next look.
  func takeLook(_ subscription: Subscription) -> StreamScreens {
    state.withLock { state in
      let pending = state.streams[subscription.id]?.pending ?? []
      state.streams[subscription.id]?.pending = []
      state.streams[subscription.id]?.owed.subtract(pending)
      return pending
    }
  }

  /// The look at these was in vain: the stream's next wake looks at them again.
  func missed(_ subscription: Subscription, _ screens: StreamScreens) {
    state.withLock { $0.streams[subscription.id]?.pending.formUnion(screens) }
  }

  /// Whether to show now that the connection lives.
  func takeComment(_ subscription: Subscription) -> Bool {
    state.withLock { state in
      let owesComment = state.streams[subscription.id]?.owesComment ?? false
      state.streams[subscription.id]?.owesComment = false
      return owesComment
    }
  }

  /// Wakes every stream, and lets some of them look at everything, for hints that may have been lost.
  ///
  /// - Parameter share: which of ``GatewayLimits/heartbeatsPerLook`` shares of them looks; nil is all.
  func wakeAll(looking share: Int?) {
    let continuations = state.withLock { state in
      for id in state.streams.keys {
        state.streams[id]?.owesComment = true
        if share ?? id.share == id.share { state.streams[id]?.pending = .all }
      }
      return state.streams.values.map(\.continuation)
    }
    for continuation in continuations { continuation.yield() }
  }

  /// Ends all streams, and those that come.
  func close() {
    let streams = state.withLock { state in
      state.isClosed = true
      return Array(state.streams.values)
    }
    arrived.finish()
    for stream in streams { stream.continuation.finish() }
  }
}

extension UInt64 {
  /// In which of the looks without a hint the stream with this id takes part.
  fileprivate var share: Int { Int(self % UInt64(GatewayLimits.heartbeatsPerLook)) }
}
