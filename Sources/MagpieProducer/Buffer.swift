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
    var id: UInt64
    var bytes: Int
    var continuation: CheckedContinuation<Bool, Never>
  }
  private struct SettledWaiter {
    var remaining: Set<Ticket>
    var continuation: CheckedContinuation<Void, Never>
  }
  private struct State {
    var nextID: UInt64 = 0
    var eventCount = 0
    var byteCount = 0
    var pending: [Ticket: Pending] = [:]
    var failures: [UndeliveredEvent] = []
    var roomWaiters: [RoomWaiter] = []
    var settledWaiters: [UInt64: SettledWaiter] = [:]

    mutating func newID() -> UInt64 {
      nextID += 1
      return nextID
    }
  }

  private let maxEvents: Int
  private let maxBytes: Int
  private let state = Mutex(State())

  init(maxEvents: Int, maxBytes: Int) {
    self.maxEvents = max(1, maxEvents)
    self.maxBytes = maxBytes
  }

  /// Waits for room, then reserves it. Throws `CancellationError` if cancelled while waiting.
  func reserve(bytes: Int) async throws {
    try Task.checkCancellation()
    let id = state.withLock { $0.newID() }
    let hasRoom = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let immediately: Bool? = state.withLock { state in
          if Task.isCancelled { return false }
          if state.roomWaiters.isEmpty, fits(bytes, state) {
            state.eventCount += 1
            state.byteCount += bytes
            return true
          }
          state.roomWaiters.append(RoomWaiter(id: id, bytes: bytes, continuation: continuation))
          return nil
        }
        if let immediately { continuation.resume(returning: immediately) }
      }
    } onCancel: {
      let waiter: RoomWaiter? = state.withLock { state in
        guard let index = state.roomWaiters.firstIndex(where: { $0.id == id }) else { return nil }
        return state.roomWaiters.remove(at: index)
      }
      waiter?.continuation.resume(returning: false)
      // The next waiters may need less room.
      admitWaiters()
    }
    if !hasRoom { throw CancellationError() }
  }

  /// An empty buffer admits any event, even one above the bound.
  private func fits(_ bytes: Int, _ state: State) -> Bool {
    state.eventCount == 0
      || (state.eventCount < maxEvents && state.byteCount + bytes <= maxBytes)
  }

  /// Registers an event that occupies the reserved room until it is settled.
  func admit(_ event: Event, bytes: Int) -> Ticket {
    state.withLock { state in
      let ticket = state.newID()
      state.pending[ticket] = Pending(event: event, bytes: bytes)
      return ticket
    }
  }

  /// Marks the event as delivered or failed. With `keeping`, the failure is kept for `flush`.
  func settle(_ ticket: Ticket, keeping error: PublishError? = nil) {
    let done: [CheckedContinuation<Void, Never>] = state.withLock { state in
      guard let pending = state.pending.removeValue(forKey: ticket) else { return [] }
      state.eventCount -= 1
      state.byteCount -= pending.bytes
      if let error {
        state.failures.append(UndeliveredEvent(event: pending.event, error: error))
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
      var count = 0
      while count < state.roomWaiters.count, fits(state.roomWaiters[count].bytes, state) {
        state.eventCount += 1
        state.byteCount += state.roomWaiters[count].bytes
        count += 1
      }
      defer { state.roomWaiters.removeFirst(count) }
      return Array(state.roomWaiters.prefix(count))
    }
    for waiter in admitted { waiter.continuation.resume(returning: true) }
  }

  /// Whether another failure can be kept for `flush`; kept failures are bounded like the events.
  var hasRoomForFailures: Bool {
    state.withLock { $0.failures.count + $0.pending.count < 2 * maxEvents }
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
      defer { state.failures = [] }
      return state.failures
        + state.pending.sorted { $0.key < $1.key }
        .map { UndeliveredEvent(event: $0.value.event, error: .pending) }
    }
  }
}
