import Events
import Foundation
import Kafka
import Postgres
import TestSupport
import Testing
import Verification
import Workload

/// The comparison of the alarms with alarm-changes.
@Suite struct PublishedAlarmsTests {
  private let tables: Tables

  init() throws {
    var generator = SeededGenerator()
    let log = MemoryLog()
    try log.append(
      SocialWorkload(
        users: 30, events: 900, seed: UInt64.random(in: 1...1_000_000, using: &generator)))
    tables = try Tables(log)
    try tables.applyAll(batch: 50)
  }

  private func differences(slices: Int? = nil, log: MemoryLog? = nil) throws -> ComparisonReport {
    try PublishedAlarms(
      Connection(tables.url, applicationName: "verify"), log: log ?? tables.log,
      prefix: tables.log.prefix, slices: slices
    ).run(report: ComparisonReport(samplesMax: 10_000, peopleMax: 10_000))
  }

  @Test("after a workload, every alarm was published with its content, in any number of slices")
  func clean() throws {
    let alarms = try tables.admin.query("SELECT count(*) FROM alarms WHERE version > 0").only.int(0)
    #expect(alarms > 50)
    for slices in [1, 3] {
      let report = try differences(slices: slices)
      #expect(report.lines == [])
      #expect(report.rows == alarms)
    }
  }

  @Test("an alarm whose row differs from what was published is named, whatever the column")
  func different() throws {
    let columns = [
      "text", "locale", "legacy_message", "deep_link", "head_text", "actor", "post_id",
      "badge_icon", "image_url",
    ]
    for column in columns {
      let id = try tables.admin.query(
        """
        UPDATE alarms SET \(column) = 'x', version = version + 0
        WHERE notification_id = (
          SELECT notification_id FROM alarms
          WHERE NOT retracted AND version > 0 AND \(column) IS DISTINCT FROM 'x'
          ORDER BY random() LIMIT 1)
        RETURNING notification_id::text, recipient, version
        """
      ).only
      // The trigger takes the change for that of an older worker, which leaves an unpublished row.
      #expect(try id.int8(2) == 0)
    }
    #expect(try differences().lines == [])
    try tables.admin.script("SET session_replication_role = replica")
    for column in columns {
      let row = try tables.admin.query(
        """
        UPDATE alarms SET \(column) = 'y'
        WHERE notification_id = (
          SELECT notification_id FROM alarms
          WHERE NOT retracted AND version > 0 AND \(column) IS DISTINCT FROM 'y'
          ORDER BY random() LIMIT 1)
        RETURNING notification_id::text, recipient
        """
      ).only
      let line = "alarm-changes different \(try row.text(1)) \(try row.text(0))"
      #expect(try differences().lines.contains(line), "\(column)")
    }
  }

  @Test("a phantom above the row's version changes nothing; below it, it would be a difference")
  func phantoms() throws {
    let row = try tables.admin.query(
      "SELECT notification_id::text, recipient, version FROM alarms WHERE NOT retracted AND version > 0 LIMIT 1"
    ).only
    let (id, recipient, version) = (try row.text(0), try row.text(1), try row.int8(2))
    func phantom(_ version: Int64) -> Event {
      Event(
        id: "phantom \(version)", source: "test", time: .now,
        payload: .alarmRetracted(
          .with { ($0.notification, $0.recipient, $0.version) = (id, recipient, version) }))
    }
    try tables.log.append([phantom(version + 1_000_000), phantom(1)])
    #expect(try differences().lines == [])
    // As if the row had been committed without being published.
    try tables.admin.query(
      "UPDATE alarms SET version = $1 WHERE notification_id = $2",
      [.int8(version + 1_000_000), .uuid(UUID(uuidString: id))])
    #expect(try differences().lines == ["alarm-changes different \(recipient) \(id)"])
  }

  @Test("a row that was never published is named, unless the beginning of the topic is gone")
  func unpublished() throws {
    let other = MemoryLog()
    #expect(try differences(log: other).lines == [], "a new topic")
    try other.append([
      Event(
        id: "1", source: "test", time: .now,
        payload: .alarmRetracted(
          .with {
            ($0.notification, $0.recipient) = ("00000000-0000-5000-8000-000000000001", "somebody")
            $0.version = 1
          }))
    ])
    let alarms = try tables.admin.query("SELECT count(*) FROM alarms WHERE version > 0").only.int(0)
    let report = try differences(log: other)
    #expect(report.total == alarms)
    #expect(report.lines.allSatisfy { $0.hasPrefix("alarm-changes extra ") })
  }
}
