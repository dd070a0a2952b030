import Foundation
import Kafka
import Postgres

/// Waits until all records are applied: lag 0 in all groups, those of the workers' own topics
/// included, and no pending renderings, reviews, alarms of subscribers, reminders that are due or erasures.
func waitUntilApplied(
  _ connection: Connection, _ admin: Admin, prefix: String, seconds: Double,
  progress: inout Progress, isStopped: () throws -> Bool = { false }
) throws {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while true {
    let report = try LagReport.measure(connection, admin, prefix: prefix)
    if report.isApplied { break }
    if let cut = report.partitions.first(where: \.isCutOff) { throw cutOffFailure(cut) }
    let waiting = (["\(report.total) records to apply"] + report.pending.phrases)
      .joined(separator: ", ")
    progress.show("waiting for \(waiting)")
    guard ContinuousClock.now < deadline else {
      progress.clear()
      throw Failure(
        .found,
        "After \(seconds) s there are still \(waiting)"
          + (report.missingTopics.isEmpty
            ? "" : ", and these topics are missing: \(report.missingTopics)")
          + (report.unanswered.isEmpty
            ? "" : ", and \(report.unanswered.count) partitions whose leaders do not answer")
          + ". `magpie lag` shows where. Are all workers running?")
    }
    if try isStopped() { throw Failure(.found, "stopped before all records were applied") }
    Thread.sleep(forTimeInterval: 0.1)
  }
  progress.clear()
}

private func cutOffFailure(_ partition: LagReport.Partition) -> Failure {
  Failure(
    .found,
    "\(partition.topic)[\(partition.partition)] begins at offset \(partition.lowWatermark ?? 0), but "
      + "the stored offset of \(partition.group) is \(partition.nextOffset ?? 0): the broker has "
      + "dropped records that were never applied: docs/operations/log-truncated-past-our-offset.md. "
      + "(The embedded broker keeps at most 5 MiB a partition: send less at a time, or use more --partitions.)"
  )
}
