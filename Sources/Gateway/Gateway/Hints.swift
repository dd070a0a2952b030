import Synchronization

/// Which streams are open here, what they show, and at what each must look again. Thread-safe.
///
/// A hint holds nothing but that a subject may have something new: what a stream sends is always read from
/// PostgreSQL. So hints may be lost, repeated or early without harm, and none is queued: a stream that is
/// still writing looks once afterwards.
final class Hints: Sendable {
  /// A subscription's wakes.
  struct Subscription: Sendable {
    var wakes: AsyncStream<Void>
    fileprivate var id: UInt64
  }

  private struct Stream {
    var continuation: AsyncStream<Void>.Continuation
    var subjects: Set<Subject>
    /// At what the next look is.
    var pending = StreamScreens.all
    /// Whether it has to show that the connection lives.
    var owesComment = false
  }

  /// Hints that make streams look at the same.
  private struct Hint: Hashable {
    var subject: Subject
    var screens: StreamScreens
  }

  private struct State {
    var nextID: UInt64 = 0
    var streams: [UInt64: Stream] = [:]
    var watching: [Subject: Set<UInt64>] = [:]
    /// Those for which looks are scheduled, and whether there was another one since.
    var scheduled: [Hint: Bool] = [:]
    var isClosed = false

    mutating func watch(_ subjects: Set<Subject>, for id: UInt64) {
      guard streams[id] != nil else { return }
      streams[id]?.subjects.formUnion(subjects)
      for subject in subjects { watching[subject, default: []].insert(id) }
    }
  }

  private let state = Mutex(State())
  private let pause: @Sendable (Duration) async -> Void

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

  /// Something of the subject may change soon, or may just have changed, which these screens show.
  func hint(_ subject: Subject, _ screens: StreamScreens) {
    let hint = Hint(subject: subject, screens: screens)
    let isNew = state.withLock { state in
      guard state.watching[subject] != nil else { return false }
      return state.scheduled.updateValue(true, forKey: hint) == nil
    }
    guard isNew else { return }
    Task {
      // Once more from the beginning if there was a hint meanwhile.
      while let delays = takeScheduled(hint) {
        var passed = Duration.zero
        for delay in delays {
          await pause(delay - passed)
          passed = delay
          // The last look is at everything: another worker, whose results came first, may have been late.
          wake(subject, at: delay == delays.last ? .all : screens)
          if state.withLock({ $0.scheduled[hint] ?? false }) { break }
        }
      }
    }
  }

  private func takeScheduled(_ hint: Hint) -> [Duration]? {
    state.withLock { state in
      guard state.scheduled[hint] == true, let watching = state.watching[hint.subject] else {
        state.scheduled[hint] = nil
        return nil
      }
      state.scheduled[hint] = false
      return Self.delays(hint.subject, streams: watching.count)
    }
  }

  /// When streams look after a hint: a record can be published before it is committed, and applied later than it
  /// is published. What many see may change all the time, so these streams look less often the more they are.
  private static func delays(_ subject: Subject, streams: Int) -> [Duration] {
    guard case .person = subject else {
      let first = Duration.milliseconds(max(500, streams * 1000 / GatewayLimits.looksPerSecond))
      return [first, first * 2, max(first * 3, .seconds(4))]
    }
    return [.milliseconds(50), .milliseconds(250), .seconds(1), .seconds(4)]
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
    for stream in streams { stream.continuation.finish() }
  }

  private func wake(_ subject: Subject, at screens: StreamScreens) {
    let continuations = state.withLock { state in
      (state.watching[subject] ?? []).compactMap { id in
        state.streams[id]?.pending.formUnion(screens)
        return state.streams[id]?.continuation
      }
    }
    for continuation in continuations { continuation.yield() }
  }
}

extension UInt64 {
  /// In which of the looks without a hint the stream with this id takes part.
  fileprivate var share: Int { Int(self % UInt64(GatewayLimits.heartbeatsPerLook)) }
}
