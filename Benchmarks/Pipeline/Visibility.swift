import Foundation
import Postgres
import Synchronization

/// Polls how far a consumer group's committed results reach, as a reader would: an offset changes
/// in the transaction of its rows, so both become visible together.
final class Visibility: Sendable {
  typealias Sightings = [Int32: [(nextOffset: Int64, at: ContinuousClock.Instant)]]

  private let sightings = Mutex<Sightings>([:])
  private let failure = Mutex<(any Error)?>(nil)
  private let backend = Mutex<Int32?>(nil)
  private let isStopping = Atomic(false)
  private let ended = DispatchSemaphore(value: 0)

  /// - Parameter seconds: the polling interval. Changes in between count at the next poll; polling
  ///   takes processor time from the system under test.
  init(url: String, group: String, topic: String, every seconds: Double) {
    Thread.detachNewThread { [self] in
      do {
        let connection = try Connection(url, applicationName: "magpie-bench")
        backend.withLock { $0 = connection.backendProcessID }
        while !isStopping.load(ordering: .relaxed) {
          let rows = try connection.query(
            """
            SELECT partition, next_offset FROM consumer_offsets
            WHERE consumer_group = $1 AND topic = $2
            """, [.text(group), .text(topic)])
          let now = ContinuousClock.now
          try note(rows.map { (Int32(try $0.int(0)), try $0.int8(1)) }, at: now)
          Thread.sleep(forTimeInterval: seconds)
        }
        connection.close()
      } catch { failure.withLock { $0 = error } }
      ended.signal()
    }
  }

  /// Waits until all sent records are visible, and returns the milliseconds from each one's
  /// scheduled time, in sending order.
  func latencies(of sent: [OpenLoop.Sent], within limit: Duration) throws -> [Double] {
    let deadline = ContinuousClock.now + limit
    var last: [Int32: Int64] = [:]
    for record in sent { last[record.partition] = max(last[record.partition] ?? 0, record.offset) }
    while !reaches(last) {
      if let error = failure.withLock({ $0 }) { throw error }
      guard ContinuousClock.now < deadline else {
        throw BenchError(description: "some records were not visible within \(limit)")
      }
      Thread.sleep(forTimeInterval: 0.005)
    }
    stop()
    return sightings.withLock { sightings in
      sent.map { record in
        let seen = sightings[record.partition] ?? []
        var (low, high) = (0, seen.count)
        while low < high {
          let middle = (low + high) / 2
          if seen[middle].nextOffset > record.offset { high = middle } else { low = middle + 1 }
        }
        return (seen[low].at - record.due) / .milliseconds(1)
      }
    }
  }

  func stop() {
    guard !isStopping.exchange(true, ordering: .relaxed) else { return }
    ended.wait()
  }

  private func reaches(_ last: [Int32: Int64]) -> Bool {
    sightings.withLock { sightings in
      last.allSatisfy { sightings[$0.key]?.last?.nextOffset ?? 0 > $0.value }
    }
  }

  private func note(_ offsets: [(Int32, Int64)], at now: ContinuousClock.Instant) {
    sightings.withLock { sightings in
      for (partition, next) in offsets where sightings[partition]?.last?.nextOffset ?? -1 < next {
        sightings[partition, default: []].append((next, now))
      }
    }
  }
}
