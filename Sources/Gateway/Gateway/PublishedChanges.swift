import Events
import Synchronization

/// How far notification-worker was at some moments, and where `notification-changes` ended after
/// each of them. So a position that was applied before such a moment waits for the changes of then,
/// not for those that came since. Thread-safe.
final class PublishedChanges: Sendable {
  /// What notification-worker had applied, and what it had published for that at the latest.
  struct Moment: Sendable {
    /// The offset after the last record that notification-worker had applied, by its partition.
    var applied: [UnappliedHints.Source: Int64]
    /// Read after `applied`, so everything that was published for `applied` lies at or before these
    /// records, which alarm-worker renders.
    var ends: Set<Barrier.Bound>
  }

  /// Ascending. The first may be one whose changes alarm-worker has rendered.
  private let moments = Mutex<[Moment]>([])

  /// The records that alarm-worker must have applied for the alarms of the barrier's records to be
  /// rendered; nil if no moment after these records is known.
  func ends(for barrier: Barrier) -> Set<Barrier.Bound>? {
    let sought = barrier.bounds.filter { $0.group == .notification }
    return moments.withLock { moments in
      moments.first { moment in
        sought.allSatisfy { moment.applied[$0.source, default: 0] > $0.offset }
      }?.ends
    }
  }

  /// Adds a moment that is later than those before.
  ///
  /// - Parameter rendered: the offsets after the last records that alarm-worker has applied.
  func note(_ moment: Moment, rendered: [UnappliedHints.Source: Int64]) {
    moments.withLock { moments in
      // Offsets go back when a topic is recreated or a worker is reset. What was noted before then
      // says nothing about the records of now.
      if moments.last.map({ $0.isAhead(of: moment) }) ?? false { moments = [] }
      moments.append(moment)
      // A rendered moment delays nothing, so those before it are not needed.
      let isRendered = { (moment: Moment) in
        moment.ends.allSatisfy { rendered[$0.source, default: 0] > $0.offset }
      }
      if let last = moments.lastIndex(where: isRendered) { moments.removeFirst(last) }
      // Whoever asks for a removed moment waits for the next one.
      if moments.count > GatewayLimits.publishedMoments { moments.remove(at: 1) }
    }
  }
}

extension PublishedChanges.Moment {
  fileprivate func isAhead(of other: Self) -> Bool {
    applied.contains { source, next in other.applied[source, default: 0] < next }
      || ends.contains { end in
        !other.ends.contains { $0.source == end.source && $0.offset >= end.offset }
      }
  }
}

extension Barrier.Bound {
  var source: UnappliedHints.Source {
    UnappliedHints.Source(group: group, topic: topic, partition: partition)
  }
}
