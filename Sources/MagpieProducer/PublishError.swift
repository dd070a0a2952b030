public import Events

/// Why an event was not published.
public enum PublishError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A worker would reject the event. Nothing was sent; fix the event.
  case invalid(EventError)
  /// The event was not acknowledged. If `mayHaveBeenWritten`, it may be in Kafka nevertheless;
  /// otherwise it is not: it was never sent, or the broker reported that it was not written.
  /// Publishing the same event (same id, same time) again is harmless either way, and may succeed later if
  /// `isRetriable`. `reason` is for people.
  case notDelivered(reason: String, isRetriable: Bool, mayHaveBeenWritten: Bool)
  /// The acknowledgement had not arrived when `flush` timed out. It may still arrive.
  case pending
  /// Too many failures have not been collected: call `flush`.
  case flushNeeded
  /// The producer is closed.
  case closed

  public var description: String {
    switch self {
    case .invalid(let error): "invalid event: \(error)"
    case .notDelivered(let reason, _, let mayHaveBeenWritten):
      (mayHaveBeenWritten
        ? "not acknowledged, but may have been written: " : "not delivered: ") + reason
    case .pending: "not acknowledged yet"
    case .flushNeeded: "too many undelivered events are waiting to be collected: call flush"
    case .closed: "the producer is closed"
    }
  }
}

/// The position of an acknowledged event, which every in-sync replica has.
public struct Acknowledgement: Sendable, Hashable {
  /// The topic's full name, with the prefix.
  public var topic: String
  /// The partition, which the event's key decides.
  public var partition: Int32
  /// The event's offset in the partition.
  public var offset: Int64
}

/// An event that is not known to be delivered, and why.
public struct UndeliveredEvent: Sendable {
  /// The event as it was enqueued; enqueue it again to retry.
  public var event: Event
  /// Why: ``PublishError/pending`` if the acknowledgement may still arrive.
  public var error: PublishError
}
