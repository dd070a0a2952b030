/// The rules of one time zone: the offset from UTC at every instant.
///
/// Read from a TZif file (RFC 9636); see `ZoneDirectory`. A value without I/O.
public struct Zone: Sendable {
  /// As asked for, such as `Europe/Berlin`. Not compared with anything.
  public let name: String
  /// The instants at which the offset may change, ascending; seconds since 1970-01-01T00:00:00Z.
  let transitions: [Int64]
  /// `offsets[i]` applies before `transitions[i]`, the last one after them all. Seconds east.
  let offsets: [Int]
  /// What applies from the last transition on, if the file says so.
  let rule: YearlyRule?

  /// More than any offset or any two, so that all that matters to a local time is this near.
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
  /// A local time that exists twice, as when clocks are put back, is the first of the two instants.
  /// One that does not exist, as when clocks are put forward, is read with the offset before the
  /// gap (RFC 5545 section 3.3.5): 02:30 between 02:00 and 03:00 is the instant of 03:30. Thus the
  /// order of local times near a gap is not always that of their instants.
  public func instant(of local: LocalTime) -> Int64 {
    let wall = min(max(local.seconds, -LocalTime.bound), LocalTime.bound)
    var offset = Int64(offset(at: wall - Self.reach))
    var (start, previous) = (wall - Self.reach, offset)
    for change in changes(after: wall - Self.reach, through: wall + Self.reach) {
      if wall - offset < change.instant { break }
      (start, previous) = (change.instant, offset)
      offset = Int64(change.offset)
    }
    // Later than all that came before and earlier than this: it does not exist.
    return wall - offset < start ? wall - previous : wall - offset
  }

  /// Seconds east of UTC at an instant.
  func offset(at instant: Int64) -> Int {
    let index = index(after: instant)
    if index == transitions.count, let rule { return rule.offset(at: instant) }
    return offsets[index]
  }

  /// How many transitions are at or before an instant.
  private func index(after instant: Int64) -> Int {
    var (low, high) = (0, transitions.count)
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle] <= instant { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The changes of the offset in a stretch of time, ascending. Some change nothing.
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
  /// Seconds east.
  var offset: Int
}
