import Comparison
import DeepVerification
import Events
import Postgres
import TestSupport
import Testing
import Workload

/// What is right is found right.
@Suite struct CleanTests {
  @Test("every table of the schema is on a list")
  func listed() throws {
    let connection = try TestDatabase.connection()
    let tables = try connection.query(
      """
      SELECT c.relname::text FROM pg_class c
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'S')
        AND NOT c.relispartition
        AND NOT EXISTS (
          SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('i', 'a', 'e'))
      """
    ).map { try $0.text(0) }
    let known = Set(CanonicalTable.all.flatMap(\.covers))
      .union(CanonicalTable.ownedByPipeline.keys)
    #expect(tables.count > 10)
    #expect(Set(tables).subtracting(known) == [])
  }

  @Test("the tables are what the model computes, whole and in slices, dead letters left out")
  func verified() throws {
    var generator = SeededGenerator()
    let seed = UInt64.random(in: 1...1_000_000, using: &generator)
    let log = MemoryLog()
    try log.append(SocialWorkload(users: 60, events: 3000, seed: seed))
    // Poison in the middle, and a partition's last record that the workers will not have read.
    log.append(WireRecord(key: [1], value: [2], headers: []), to: .posts)
    try log.append(SocialWorkload(users: 60, events: 500, seed: seed + 1))
    let tables = try Tables(log)
    try tables.applyAll(pushLimit: 12)
    try log.append(SocialWorkload(users: 60, events: 50, seed: seed + 2))
    for slices in [1, 7] {
      let report = try tables.verify(slices: slices)
      #expect(report.lines.sorted().prefix(5) == [], "seed \(seed), \(slices) slices")
      #expect(report.rows > 3000)
      #expect(report.tables.filter { $0.expected == 0 }.map(\.name) == [])
    }
  }

  @Test("two databases made from one log, pushed by the one and pulled by the other, are equal")
  func equal() throws {
    var generator = SeededGenerator()
    let seed = UInt64.random(in: 1...1_000_000, using: &generator)
    let log = MemoryLog()
    try log.append(SocialWorkload(users: 60, events: 2000, seed: seed))
    let (one, other) = (try Tables(log), try Tables(log))
    try one.applyAll(pushLimit: 10_000)
    try other.applyAll(pushLimit: 3, batch: 77)
    #expect(try one.compare(expected: other).lines == [], "seed \(seed)")
    #expect(
      try CanonicalTable.all.map { try $0.checksum(on: one.admin) }
        == CanonicalTable.all.map { try $0.checksum(on: other.admin) })
    // Trimming at another floor is no difference either.
    try one.admin.script(
      """
      INSERT INTO feeds (owner, floor)
      SELECT owner, percentile_disc(0.5) WITHIN GROUP (ORDER BY post_key)
      FROM feed_entries GROUP BY owner;
      DELETE FROM feed_entries e USING feeds f
      WHERE f.owner = e.owner AND e.post_key < f.floor AND e.owner % 2 = 0
      """)
    #expect(try one.compare(expected: other).lines == [], "seed \(seed), trimmed")
    #expect(try one.verify(slices: 3).lines == [], "seed \(seed), trimmed")
  }

  @Test("a log that has lost its beginning is refused, and named")
  func incomplete() throws {
    let log = MemoryLog()
    try log.append(SocialWorkload(users: 20, events: 200, seed: 1))
    let tables = try Tables(log)
    try tables.applyAll()
    #expect {
      _ = try tables.verify(log: ForgetfulLog(log: log))
    } throws: { error in
      "\(error)".contains("test.follows[0] begins at offset 3")
    }
  }
}
