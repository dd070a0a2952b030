import Events
import Handling
import Postgres
import Testing

@testable import Pushes

@Suite("Plans")
struct PlanTests {
  /// The settings exclude whole tables, unless no index serves.
  @Test("no statement of a turn or of a registration reads a whole table")
  func byIndex() throws {
    let world = try PushWorld()
    try world.admin.script("BEGIN")
    _ = try world.admin.query(planByKey(keepsPlans: true))
    let (partitions, now) = (Parameter.int4Array([0]), EventTime.now)
    for statement in [
      wakeDevices([], now: now), setBackClaims(of: [], now: now),
      readRepeats(partitions, limit: 1, answerSeconds: 30, now: now),
      readPeople(partitions, limit: 1, now: now), readDueAlarms(partitions, limit: 1, now: now),
      readActive([]), readTooMany([]),
    ] {
      let plan = try world.admin.query("EXPLAIN " + statement.sql, statement.parameters)
        .map { try $0.text(0) }
      #expect(plan.count > 2)
      #expect(!plan.contains { $0.contains("Seq Scan") }, "\(plan.joined(separator: "\n"))")
    }
  }
}
