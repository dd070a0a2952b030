import Events
import Synchronization

/// The open streams of this gateway, the subjects that they show, and the screens that each must
/// look at again. To look is to read screens from PostgreSQL and to send those that have changed.
/// Thread-safe.
///
/// A stream looks at what only its person sees once a worker has applied the hint's record, which
/// ``follow(_:)`` detects. It looks at what many people see at intervals after a hint.
///
/// A hint says only that a subject may have changed; what a stream sends is always read from
/// PostgreSQL. So losing, repeating or delivering hints early does no harm, and wakes are not
/// queued: a stream that is still writing looks once afterwards.
final class Hints: Sendable {
  /// A stream's registration; its `wakes` yield whenever the stream has something to do.
  struct Subscription: Sendable {
    var wakes: AsyncStream<Void>
    fileprivate var id: UInt64
  }

  struct Stream {
    var continuation: AsyncStream<Void>.Continuation
    var subjects: Set<Subject>
    /// The screens of the next look.
    var pending = StreamScreens.all
    /// The screens that the stream will be woken for shortly, unless it looks at them before.
    var owed: StreamScreens = []
    /// The screens that the stream does not look at yet.
    var resting: StreamScreens = []
    /// Whether a heartbeat comment is due.
    var owesComment = false

    /// The pending screens that the stream may look at.
    var due: StreamScreens { pending.subtracting(resting) }
  }

  struct State {
    var nextID: UInt64 = 0
    var streams: [UInt64: Stream] = [:]
    var watching: [Subject: Set<UInt64>] = [:]
    /// The hints with scheduled looks, and whether another such hint has arrived since.
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
  /// Yields when a hint starts to wait for its record to be applied. Ends with ``close()``.
  let (arrivals, arrived) = AsyncStream.makeStream(
    of: Void.self, bufferingPolicy: .bufferingNewest(1))
  let pause: @Sendable (Duration) async -> Void

  init(
    pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) {
    self.pause = pause
  }

  /// Registers a stream. The first wake comes at once; the wakes end with ``close()`` or
  /// ``unsubscribe(_:)``.
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

  /// Wakes the stream also for hints about these subjects.
  func watch(_ subjects: Set<Subject>, _ subscription: Subscription) {
    state.withLock { $0.watch(subjects, for: subscription.id) }
  }

  /// Has a new stream look at everything again, after two seconds and after ten. While nobody watched its subjects,
  /// their records were not noted, and workers may apply these after the stream's first look.
  func lookAgain(_ subscription: Subscription) {
    Task {
      for seconds in [2, 8] {
        await pause(.seconds(seconds))
        let continuation = state.withLock { state in
          state.streams[subscription.id]?.pending = .all
          return state.streams[subscription.id]?.continuation
        }
        guard let continuation else { return }
        continuation.yield()
      }
    }
  }

  /// Removes the stream and ends its wakes.
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

  /// Whether there are screens to look at; if not, the wake was only for a heartbeat comment.
  func hasLook(_ subscription: Subscription) -> Bool {
    state.withLock { $0.streams[subscription.id]?.due.isEmpty == false }
  }

  /// Returns the screens to look at now. Hints that arrive from here on are for the next look.
  func takeLook(_ subscription: Subscription) -> StreamScreens {
    state.withLock { state in
      let due = state.streams[subscription.id]?.due ?? []
      state.streams[subscription.id]?.pending.subtract(due)
      state.streams[subscription.id]?.owed.subtract(due)
      return due
    }
  }

  /// Lets the stream not look at these screens for some time, and wakes it afterwards if it must.
  func rest(_ subscription: Subscription, _ screens: StreamScreens, for time: Duration) {
    state.withLock { $0.streams[subscription.id]?.resting.formUnion(screens) }
    Task {
      await pause(time)
      let continuation = state.withLock { state in
        state.streams[subscription.id]?.resting.subtract(screens)
        let stream = state.streams[subscription.id]
        return stream?.due.isEmpty == false ? stream?.continuation : nil
      }
      continuation?.yield()
    }
  }

  /// Reports that a look at these screens failed: the stream's next wake looks at them again.
  func missed(_ subscription: Subscription, _ screens: StreamScreens) {
    state.withLock { $0.streams[subscription.id]?.pending.formUnion(screens) }
  }

  /// Returns whether a heartbeat comment is due, and clears that flag.
  func takeComment(_ subscription: Subscription) -> Bool {
    state.withLock { state in
      let owesComment = state.streams[subscription.id]?.owesComment ?? false
      state.streams[subscription.id]?.owesComment = false
      return owesComment
    }
  }

  /// Wakes every stream, and lets a share of them look at all screens, in case hints were lost.
  ///
  /// - Parameter share: which of the ``GatewayLimits/heartbeatsPerLook`` shares looks; nil for all.
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

  /// Ends all streams, including those that subscribe later.
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
  /// The share in which the stream with this id looks without a hint.
  fileprivate var share: Int { Int(self % UInt64(GatewayLimits.heartbeatsPerLook)) }
}
