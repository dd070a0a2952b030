/// The rules of one time zone: the offset from UTC at every instant.
///
/// Parsed from a TZif file (RFC 9636); see `ZoneDirectory`. An immutable value that does no I/O.
public struct Zone: Sendable {
  /// The name under which it was requested, such as `Europe/Berlin`. Never compared with anything.
  public let name: String
  /// The instants at which the offset may change, ascending; seconds since 1970-01-01T00:00:00Z.
  let transitions: [Int64]
  /// `offsets[i]` applies before `transitions[i]`, the last one after all transitions. Seconds east
  /// of UTC.
  let offsets: [Int]
  /// The rule that applies from the last transition on, if the file has one.
  let rule: YearlyRule?

  /// Larger than any offset and than the difference of any two, so only offset changes within this
  /// distance can affect a local time. In seconds.
  private static let reach: Int64 = 2 * 86_400

  /// The local time at an instant.
  ///
  /// - Parameter instantSeconds: seconds since 1970-01-01T00:00:00Z.
  public func local(at instantSeconds: Int64) -> LocalTime {
    let instant = min(max(instantSeconds, -LocalTime.bound), LocalTime.bound)
    return LocalTime(seconds: instant + Int64(offset(at: instant)))
  }

  /// The instant of a local time, in seconds since 1970-01-01T00:00:00Z.
  ///
  /// A local time that exists twice, because clocks are set back, means the first of the two
  /// instants. One that does not exist, because clocks are set forward, is interpreted with the
  /// offset before the gap (RFC 5545 section 3.3.5): if the clocks skip from 02:00 to 03:00, 02:30
  /// is the instant of 03:30. So near a gap, local times and their instants can be in different
  /// orders.
  ///
  /// - Parameter clampsGaps: whether to take the end of the gap instead, so that the orders agree.
  public func instant(of local: LocalTime, clampsGaps: Bool = false) -> Int64 {
    let wall = min(max(local.seconds, -LocalTime.bound), LocalTime.bound)
    var offset = Int64(offset(at: wall - Self.reach))
    var (start, previous) = (wall - Self.reach, offset)
    for change in changes(after: wall - Self.reach, through: wall + Self.reach) {
      if wall - offset < change.instant { break }
      (start, previous) = (change.instant, offset)
      offset = Int64(change.offset)
    }
    // The local time is past the end of the previous offset but before the start of this one: it
    // lies in a gap.
    guard wall - offset < start else { return wall - offset }
    return clampsGaps ? start : wall - previous
  }

  /// Seconds east of UTC at an instant.
  func offset(at instant: Int64) -> Int {
    let index = index(after: instant)
    if index == transitions.count, let rule { return rule.offset(at: instant) }
    return offsets[index]
  }

  /// The number of transitions at or before an instant.
  private func index(after instant: Int64) -> Int {
    var (low, high) = (0, transitions.count)
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle] <= instant { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The offset changes after `start`, up to and including `end`, ascending. Some leave the offset
  /// as it was.
  private func changes(after start: Int64, through end: Int64) -> [OffsetChange] {
    let listed = transitions[index(after: start)..<index(after: end)]
    var changes = listed.map { OffsetChange(instant: $0, offset: offset(at: $0)) }
    if let rule {
      let first = max(start, transitions.last ?? .min)
      changes += rule.changes(after: first, through: end)
    }
    return changes
  }
}

/// The offset from UTC that applies from an instant on.
struct OffsetChange {
  /// Seconds since 1970-01-01T00:00:00Z.
  var instant: Int64
  /// Seconds east of UTC.
  var offset: Int
}
