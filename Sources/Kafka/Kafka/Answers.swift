import Dispatch
import Synchronization

/// What became of the records of one call of `Producer.attempt`.
public struct SendOutcome: Sendable {
  /// For each record; nil if it failed.
  public internal(set) var deliveries: [Delivery?]
  /// The first failure, and the index of its record.
  public internal(set) var failure: (index: Int, error: KafkaError)?

  mutating func fail(_ index: Int, _ error: KafkaError) {
    if failure == nil { failure = (index, error) }
  }
}

/// Collects the delivery reports of one synchronous `send`.
final class Answers: Sendable {
  private struct State {
    var outcome: SendOutcome
    var missing: Int
  }
  private let state: Mutex<State>
  private let changed = DispatchSemaphore(value: 0)
  private let allIn = DispatchSemaphore(value: 0)

  init(count: Int) {
    state = Mutex(
      State(outcome: SendOutcome(deliveries: Array(repeating: nil, count: count)), missing: count))
    if count == 0 { allIn.signal() }
  }

  func put(_ answer: Result<Delivery, KafkaError>, at index: Int) {
    settle(1) { outcome in
      switch answer {
      case .success(let delivery): outcome.deliveries[index] = delivery
      case .failure(let error): outcome.fail(index, error)
      }
    }
    changed.signal()
  }

  /// Records the failure of all records from `index` on, which were never queued.
  func abandon(from index: Int, _ error: KafkaError) {
    settle(state.withLock { $0.outcome.deliveries.count } - index) { $0.fail(index, error) }
  }

  private func settle(_ count: Int, _ change: (inout SendOutcome) -> Void) {
    let isLast = state.withLock { state in
      change(&state.outcome)
      state.missing -= count
      return state.missing == 0
    }
    if isLast { allIn.signal() }
  }

  var areMissing: Bool { state.withLock { $0.missing > 0 } }

  func waitForProgress(milliseconds: Int) {
    _ = changed.wait(timeout: .now() + .milliseconds(milliseconds))
  }

  func wait() -> SendOutcome {
    allIn.wait()
    return state.withLock { $0.outcome }
  }
}
