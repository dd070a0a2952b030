import Postgres
import TestSupport
import Testing

@testable import magpie_campaign

/// The audit must reveal the effects of a broken fence; a check that never finds anything proves
/// nothing.
@Suite struct AuditCheckTests {
  private func audited() throws -> (url: String, connection: Connection) {
    let url = try TestDatabase.fresh()
    let connection = try Connection(url, applicationName: "one.1")
    try connection.script("SELECT audit_start(); \(World.sweepNotes)")
    try connection.script("SELECT fence_claim('g', '{likes}', '{0}', '{0}')")
    return (url, connection)
  }

  private func findings(_ connection: Connection) throws -> Set<Finding.Check> {
    Set(try AuditCheck(connection: connection).findings().map(\.check))
  }

  private func advance(_ connection: Connection, _ from: Int, _ to: Int, epoch: Int = 1) throws {
    try connection.script(
      "SELECT fence_advance('g', '{likes}', '{0}', '{\(from)}', '{\(to)}', '{\(epoch)}')")
  }

  @Test("regular handovers between owners produce no findings")
  func goodOrder() throws {
    let (url, connection) = try audited()
    try advance(connection, 0, 5)
    let successor = try Connection(url, applicationName: "two.1")
    try successor.script("SELECT fence_claim('g', '{likes}', '{0}', '{5}')")
    try advance(successor, 5, 9, epoch: 2)
    #expect(throws: PostgresError.self) { try advance(connection, 5, 7) }
    let check = AuditCheck(connection: successor)
    #expect(try check.findings() == [])
    #expect(try check.commits() == 2)
    #expect(try check.handovers().map(\.offset) == [5])
  }

  @Test("a process that changes an offset after another claimed the partition is detected")
  func fenceRemoved() throws {
    let (url, connection) = try audited()
    let successor = try Connection(url, applicationName: "two.1")
    try successor.script("SELECT fence_claim('g', '{likes}', '{0}', '{0}')")
    try connection.script("UPDATE consumer_offsets SET next_offset = 5")
    #expect(try findings(connection) == [.epochs])
  }

  @Test("a decreasing offset is detected")
  func wentBack() throws {
    let (_, connection) = try audited()
    try advance(connection, 0, 5)
    try connection.script("UPDATE consumer_offsets SET next_offset = 3")
    #expect(try findings(connection).contains(.offsets))
  }

  @Test("a claim that keeps the epoch is detected")
  func epochKept() throws {
    let (_, connection) = try audited()
    try connection.script("UPDATE consumer_offsets SET updated_at = now()")
    #expect(try findings(connection) == [.epochs])
  }

  @Test("an uncommitted range is detected")
  func gap() throws {
    let (_, connection) = try audited()
    try connection.script(
      """
      SELECT audit_stop();
      UPDATE consumer_offsets SET next_offset = 3;
      SELECT audit_start();
      """)
    try advance(connection, 3, 5)
    #expect(try findings(connection) == [.ranges])
  }

  @Test("rows and dead letters from other transactions than their offset's are detected")
  func otherTransactions() throws {
    let (_, connection) = try audited()
    let letter = """
      INSERT INTO dead_letters (consumer_group, topic, partition, record_offset, header_names,
        header_values, reason_code, reason, code_version)
      VALUES ('g', 'likes', 0, %, '{}', '{}', 'bad-json', 'why', 'v');
      """
    let like = """
      INSERT INTO likes (post_id, actor, post_owner, active, version_time, version_id)
      VALUES ('%', 'a', 'o', true, now(), 'v');
      """
    let together = (letter + like).replacing("%", with: "1")
    try connection.script(
      "BEGIN; SELECT fence_advance('g', '{likes}', '{0}', '{0}', '{2}', '{1}'); \(together) COMMIT")
    let check = AuditCheck(connection: connection)
    #expect(try check.strays() == [])
    try connection.script(letter.replacing("%", with: "0"))
    #expect(try check.strays().count == 1)
    try connection.script(like.replacing("%", with: "p"))
    #expect(try check.strays().count == 2)
  }

  @Test("nothing is recorded while the audit is off")
  func off() throws {
    let (_, connection) = try audited()
    try connection.script("SELECT audit_stop()")
    try advance(connection, 0, 5)
    #expect(try connection.query("SELECT count(*) FROM batch_audit").only.int(0) == 1)
  }
}
