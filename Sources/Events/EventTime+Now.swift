#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension EventTime {
  /// The current time of the system clock, to the microsecond.
  public static var now: EventTime {
    EventTime(microseconds: Int64((Date.now.timeIntervalSince1970 * 1_000_000).rounded(.down)))
  }
}
