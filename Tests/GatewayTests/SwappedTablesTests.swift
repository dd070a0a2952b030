import Postgres
import TestSupport
import Testing

@testable import Gateway

/// What a gateway's transaction notices of rebuilt tables that are swapped in behind its snapshot.
@Suite struct SwappedTablesTests {
  @Test(
    "a transaction whose tables were swapped behind its snapshot is not answered from, the next one is",
    arguments: ["posts", "notifications", "alarms", "reminders"])
  func swapped(table: String) throws {
    let url = try TestDatabase.fresh()
    let reader = try Connection(url, applicationName: "test")
    let swapper = try Connection(url, applicationName: "test")
    try swapper.script("CREATE SCHEMA shadow; CREATE TABLE shadow.\(table) (LIKE public.\(table))")
    func isSame() throws -> Bool { try reader.query(Reader.hasTablesOfSnapshot).only.bool(0) }
    #expect(try isSame())
    try reader.script("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    // Takes the snapshot, as the barrier does, but no lock of the table.
    try reader.query("SELECT count(*) FROM consumer_offsets")
    #expect(try isSame())
    try swapper.script(
      """
      CREATE SCHEMA former;
      ALTER TABLE public.\(table) SET SCHEMA former;
      ALTER TABLE shadow.\(table) SET SCHEMA public;
      """)
    #expect(try !isSame())
    try reader.script("COMMIT")
    #expect(try isSame())
  }
}
