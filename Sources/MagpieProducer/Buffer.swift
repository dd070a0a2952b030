import Events
import Synchronization

/// The accepted events that are not yet settled (delivered or failed). Enforces the bounds, lets
/// callers wait for room in order of arrival and for events to settle, and keeps the failures that
/// no caller awaits.
///
/// Independent of Kafka. Thread-safe.
final class Buffer: Sendable {
  typealias Ticket = UInt64

  private struct Pending {
    var event: Event
    var bytes: Int
  }
  private struct RoomWaiter {
    var pending: Pending
    var continuation: CheckedContinuation<Void, any Error>
  }
  private struct SettledWaiter {
    var remaining: Set<Ticket>
    var continuation: CheckedContinuation<Void, Never>
  }
  private struct State {
    var nextID: UInt64 = 0
    var isClosed = false
    var byteCount = 0
    var pending: [Ticket: Pending] = [:]
    var failures: [UndeliveredEvent] = []
    var failedByteCount = 0
    var roomWaiters: [Ticket: RoomWaiter] = [:]
    /// No waiter has a smaller ticket. Between the waiters' tickets are others, such as those of
    /// waiters that were cancelled.
    var firstRoomTicket: Ticket = 0
    var settledWaiters: [UInt64: SettledWaiter] = [:]

    mutating func newID() -> UInt64 {
      nextID += 1
      return nextID
    }

    mutating func add(_ event: Pending, _ ticket: Ticket) {
      pending[ticket] = event
      byteCount += event.bytes
    }

    mutating func addWaiter(_ waiter: RoomWaiter, _ ticket: Ticket) {
      // A caller may get its ticket before another one, but begin to wait after it.
      firstRoomTicket = roomWaiters.isEmpty ? ticket : min(firstRoomTicket, ticket)
      roomWaiters[ticket] = waiter
    }
  }

  private let maxEvents: Int
  private let maxBytes: Int
  private let state = Mutex(State())

  init(maxEvents: Int, maxBytes: Int) {
    self.maxEvents = maxEvents
    self.maxBytes = maxBytes
  }

  /// Waits for room, and registers the event, which occupies it until it is settled.
  ///
  /// - Throws: `CancellationError` if cancelled while waiting; ``PublishError/closed``.
  func admit(_ event: Event, bytes: Int) async throws -> Ticket {
    try Task.checkCancellation()
    let id = state.withLock { $0.newID() }
    let pending = Pending(event: event, bytes: bytes)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let immediately: Result<Void, any Error>? = state.withLock { state in
          if Task.isCancelled { return .failure(CancellationError()) }
          if state.isClosed { return .failure(PublishError.closed) }
          if state.roomWaiters.isEmpty, fits(bytes, state) {
            state.add(pending, id)
            return .success(())
          }
          state.addWaiter(RoomWaiter(pending: pending, continuation: continuation), id)
          return nil
        }
        if let immediately { continuation.resume(with: immediately) }
      }
    } onCancel: {
      let waiter = state.withLock { $0.roomWaiters.removeValue(forKey: id) }
      waiter?.continuation.resume(throwing: CancellationError())
      // The next waiters may need less room.
      admitWaiters()
    }
    return id
  }

  /// Admits no more events, not even those that wait for room.
  func close() {
    let waiters = state.withLock { state in
      state.isClosed = true
      defer { state.roomWaiters = [:] }
      return state.roomWaiters
    }
    for waiter in waiters.values { waiter.continuation.resume(throwing: PublishError.closed) }
  }

  /// An empty buffer admits any event, even one above the bound.
  private func fits(_ bytes: Int, _ state: State) -> Bool {
    state.pending.isEmpty
      || (state.pending.count < maxEvents && state.byteCount + bytes <= maxBytes)
  }

  /// Marks the event as delivered or failed. With `keeping`, the failure is kept for `flush`.
  func settle(_ ticket: Ticket, keeping error: PublishError? = nil) {
    let done: [CheckedContinuation<Void, Never>] = state.withLock { state in
      guard let pending = state.pending.removeValue(forKey: ticket) else { return [] }
      state.byteCount -= pending.bytes
      if let error {
        state.failures.append(UndeliveredEvent(event: pending.event, error: error))
        state.failedByteCount += pending.bytes
      }
      var done: [CheckedContinuation<Void, Never>] = []
      for id in Array(state.settledWaiters.keys) {
        state.settledWaiters[id]?.remaining.remove(ticket)
        if state.settledWaiters[id]?.remaining.isEmpty == true,
          let waiter = state.settledWaiters.removeValue(forKey: id)
        {
          done.append(waiter.continuation)
        }
      }
      return done
    }
    for continuation in done { continuation.resume() }
    admitWaiters()
  }

  private func admitWaiters() {
    let admitted: [RoomWaiter] = state.withLock { state in
      var admitted: [RoomWaiter] = []
      while !state.roomWaiters.isEmpty {
        let ticket = state.firstRoomTicket
        if let waiter = state.roomWaiters[ticket] {
          guard fits(waiter.pending.bytes, state) else { break }
          state.roomWaiters[ticket] = nil
          state.add(waiter.pending, ticket)
          admitted.append(waiter)
        }
        state.firstRoomTicket += 1
      }
      return admitted
    }
    for waiter in admitted { waiter.continuation.resume() }
  }

  /// How many callers wait for room.
  var roomWaiterCount: Int { state.withLock { $0.roomWaiters.count } }

  /// Whether another failure can be kept for `flush`; kept failures are bounded like the events.
  var hasRoomForFailures: Bool {
    state.withLock {
      $0.failures.isEmpty
        || $0.failures.count + $0.pending.count < 2 * maxEvents
          && $0.failedByteCount + $0.byteCount < 2 * maxBytes
    }
  }

  /// Waits until every event that is pending now is settled, or the task is cancelled.
  func waitUntilSettled() async {
    let id = state.withLock { $0.newID() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          if Task.isCancelled || state.pending.isEmpty { return true }
          state.settledWaiters[id] = SettledWaiter(
            remaining: Set(state.pending.keys), continuation: continuation)
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      let waiter = state.withLock { $0.settledWaiters.removeValue(forKey: id) }
      waiter?.continuation.resume()
    }
  }

  /// Removes and returns the kept failures, followed by the events still pending.
  func takeUndelivered() -> [UndeliveredEvent] {
    state.withLock { state in
      defer { (state.failures, state.failedByteCount) = ([], 0) }
      return state.failures
        + state.pending.sorted { $0.key < $1.key }
        .map { UndeliveredEvent(event: $0.value.event, error: .pending) }
    }
  }
}
