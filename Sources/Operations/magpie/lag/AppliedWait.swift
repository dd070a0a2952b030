import Foundation
import Kafka
import Postgres

/// Waits until everything that was sent is applied: lag 0 in all groups, the workers' own records
/// and the renderings that renames ask for included.
func waitUntilApplied(
  _ connection: Connection, _ admin: Admin, prefix: String, seconds: Double,
  progress: inout Progress, isStopped: () -> Bool = { false }
) throws {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while true {
    let report = try LagReport.measure(connection, admin, prefix: prefix)
    if report.isApplied { break }
    if let cutOff = report.partitions.first(where: \.isCutOff) { throw cutOffFailure(cutOff) }
    progress.show(
      "waiting: \(report.total) records, \(report.pendingRenders) renderings and "
        + "\(report.pendingReviews) reviews to go")
    guard ContinuousClock.now < deadline else {
      progress.clear()
      throw Failure(
        .found,
        "After \(seconds) s there are still \(report.total) records to apply and "
          + "\(report.pendingRenders) people's alarms to render"
          + (report.pendingReviews == 0
            ? "" : ", \(report.pendingReviews) reviews of what mutings reach")
          + (report.missingTopics.isEmpty
            ? "" : ", and these topics are missing: \(report.missingTopics)")
          + (report.unanswered.isEmpty
            ? "" : ", and \(report.unanswered.count) partitions whose leaders do not answer")
          + ". `magpie lag` says where; are all three workers running?")
    }
    if isStopped() { throw Failure(.found, "stopped while records were still waiting") }
    Thread.sleep(forTimeInterval: 0.1)
  }
  progress.clear()
}

private func cutOffFailure(_ partition: LagReport.Partition) -> Failure {
  Failure(
    .found,
    "\(partition.topic)[\(partition.partition)] begins at offset \(partition.lowWatermark ?? 0), but "
      + "\(partition.group) has only come to \(partition.nextOffset ?? 0): the broker has dropped "
      + "records that were never applied. The embedded broker keeps at most 5 MiB a partition: "
      + "send less at a time, use more --partitions, or use a real broker.")
}
