public import Events

/// Why an event was not published.
public enum PublishError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A worker would refuse it. Nothing was sent; repair the event.
  case invalid(EventError)
  /// It was not acknowledged. When `mayHaveBeenWritten`, Kafka may have it all the same; otherwise it
  /// certainly has not: it was never sent, or the broker said that it did not write it. Publishing the
  /// same event (same id, same time) again is harmless either way.
  case notDelivered(reason: String, isRetriable: Bool, mayHaveBeenWritten: Bool)
  /// Its acknowledgement had not come when `flush` gave up. It may still come.
  case pending
  /// Too many failures wait to be collected: call `flush`.
  case flushNeeded
  /// The producer is closed.
  case closed

  public var description: String {
    switch self {
    case .invalid(let error): "invalid event: \(error)"
    case .notDelivered(let reason, _, let mayHaveBeenWritten):
      (mayHaveBeenWritten
        ? "not acknowledged, and may have been written all the same: " : "not delivered: ") + reason
    case .pending: "not acknowledged yet"
    case .flushNeeded: "too many undelivered events are waiting to be collected: call flush"
    case .closed: "the producer is closed"
    }
  }
}

/// Where an acknowledged event went: every in-sync replica has it.
public struct Acknowledgement: Sendable, Hashable {
  public var topic: String
  public var partition: Int32
  public var offset: Int64
}

/// An event that `flush` cannot vouch for.
public struct UndeliveredEvent: Sendable {
  public var event: Event
  public var error: PublishError
}
