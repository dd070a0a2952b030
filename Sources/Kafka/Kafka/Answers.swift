import Dispatch
import Synchronization

/// Collects the delivery reports of one synchronous `send`.
final class Answers: Sendable {
  private struct State {
    var deliveries: [Delivery]
    var failure: KafkaError?
    var missing: Int
  }
  private let state: Mutex<State>
  private let changed = DispatchSemaphore(value: 0)
  private let allIn = DispatchSemaphore(value: 0)

  init(count: Int) {
    state = Mutex(
      State(
        deliveries: Array(repeating: Delivery(partition: -1, offset: -1), count: count),
        failure: nil, missing: count))
    if count == 0 { allIn.signal() }
  }

  func put(_ answer: Result<Delivery, KafkaError>, at index: Int) {
    settle(1) { state in
      switch answer {
      case .success(let delivery): state.deliveries[index] = delivery
      case .failure(let error): if state.failure == nil { state.failure = error }
      }
    }
    changed.signal()
  }

  /// Records the failure of all records from `index` on, which were never queued.
  func abandon(from index: Int, _ error: KafkaError) {
    settle(state.withLock { $0.deliveries.count } - index) { state in
      if state.failure == nil { state.failure = error }
    }
  }

  private func settle(_ count: Int, _ change: (inout State) -> Void) {
    let isLast = state.withLock { state in
      change(&state)
      state.missing -= count
      return state.missing == 0
    }
    if isLast { allIn.signal() }
  }

  var areMissing: Bool { state.withLock { $0.missing > 0 } }

  func waitForProgress(milliseconds: Int) {
    _ = changed.wait(timeout: .now() + .milliseconds(milliseconds))
  }

  func wait() throws(KafkaError) -> [Delivery] {
    allIn.wait()
    let (deliveries, failure) = state.withLock { ($0.deliveries, $0.failure) }
    if let failure { throw failure }
    return deliveries
  }
}
