import Events
import Foundation
import Postgres
import TestSupport
import Testing
import Verification
import Workload

/// Breaks random rows in every table; each one must be found and named, and no others.
@Suite struct CorruptionTests {
  /// Columns without user-visible content, or whose content another column shows.
  static let silent: Set<String> = [
    "posts.post_key", "posts.delivery", "feeds.owner", "feeds.floor", "pull_authors.author",
    "pull_authors.pulling",
    "notification_recipients.swept_at", "notification_actors.also_touched",
    "notification_actors.muted", "notifications.generation", "notifications.counter",
    "alarms.generation", "alarms.counter", "alarms.retracted", "alarms.version",
    "alarms.last_raised_at",
    "message_facts.overruled_receiver", "message_facts.overruled_sender",
    // verify_reminders checks them.
    "reminders.partition", "reminders.decided_through", "reminders.next_at", "reminders.zone",
    "reminders.due_at",
  ]

  @Test("both comparisons name every lost, changed or invented row of every table, and no others")
  func everyTable() throws {
    var generator = SeededGenerator()
    let seed = UInt64.random(in: 1...1_000_000, using: &generator)
    let log = MemoryLog()
    try log.append(SocialWorkload(users: 25, events: 700, seed: seed))
    // In a small workload nobody may block anybody, and what is disabled may be kinds only, which are rows of
    // notification_mutes.
    let silence = AlarmDisabled.with { ($0.user, $0.scope, $0.actor) = ("ann", "actor", "bo") }
    let block = PersonBlocked.with { ($0.user, $0.person) = ("ann", "cy") }
    try log.append([
      Event(id: "silence", source: "test", time: .now, payload: .alarmDisabled(silence)),
      Event(id: "block", source: "test", time: .now, payload: .personBlocked(block)),
    ])
    let (right, wrong) = (try Tables(log), try Tables(log))
    try right.applyAll(pushLimit: 10)
    try wrong.applyAll(pushLimit: 10)
    try wrong.keepAll()
    let clean = try wrong.canonicalRows()
    var found: [String: Int] = [:]
    for table in Set(CanonicalTable.all.flatMap(\.covers)).sorted() {
      for kind in ["DELETE", "UPDATE", "INSERT"] {
        // Some breakages have no visible effect; then another one is tried.
        for _ in 0..<15 {
          guard let sql = try wrong.breakage(kind, table, &generator),
            let after = try wrong.canonicalRows(after: sql), after != clean
          else { continue }
          let expected = difference(from: clean, to: after)
          _ = try wrong.admin.query("SET session_replication_role = replica")
          _ = try wrong.admin.query(sql)
          let diffed = try wrong.compare(expected: right)
          #expect(diffed.lines == expected, "seed \(seed): \(sql.sql)")
          if Bool.random(using: &generator) {
            let verified = try wrong.verify(slices: Int.random(in: 1...3, using: &generator))
            #expect(verified.lines == expected, "seed \(seed): \(sql.sql)")
          }
          // The report counts rows, the expectation counts keys, which may have several rows.
          #expect(diffed.total >= expected.count)
          found["\(kind) \(table)", default: 0] += 1
          try wrong.restore(table)
          break
        }
      }
    }
    // Only these can break without effect: an empty pull_authors or a floor changes nothing.
    let all = Set(CanonicalTable.all.flatMap(\.covers)).subtracting([
      "feeds", "feed_history", "pull_authors",
    ])
    for kind in ["DELETE", "UPDATE", "INSERT"] {
      let missed = all.filter { found["\(kind) \($0)"] == nil }
      #expect(missed.sorted() == [], "seed \(seed): \(kind)")
    }
  }

  /// The expected report, in the form of `ComparisonReport.lines`.
  private func difference(from clean: [String: [String]], to now: [String: [String]])
    -> Set<String>
  {
    var lines: Set<String> = []
    for key in Set(clean.keys).union(now.keys) {
      let (before, after) = (clean[key] ?? [], now[key] ?? [])
      guard before != after else { continue }
      let kind =
        before.count < after.count
        ? "extra" : before.count > after.count ? "missing" : "different"
      let words = key.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
      lines.insert("\(words[0]) \(kind) \(words[1])")
    }
    return lines
  }
}

extension Tables {
  /// All canonical rows by table, person and key.
  func canonicalRows() throws -> [String: [String]] {
    try admin.query("BEGIN")
    defer { _ = try? admin.query("ROLLBACK") }
    return try rowsInTransaction()
  }

  /// The same after a change, which is rolled back; nil if the change is rejected.
  func canonicalRows(after change: Statement) throws -> [String: [String]]? {
    try admin.query("BEGIN")
    defer { _ = try? admin.query("ROLLBACK") }
    try admin.query("SET LOCAL session_replication_role = replica")
    guard let rows = try? admin.query(change), rows.affectedRows == 1 else { return nil }
    return try rowsInTransaction()
  }

  private func rowsInTransaction() throws -> [String: [String]] {
    var result: [String: [String]] = [:]
    for table in CanonicalTable.all {
      let next = try table.rows(on: admin)
      while let row = try next() {
        let key = "\(table.name) \(row.person) \(row.key.joined(separator: " / "))"
        result[key, default: []].append(row.fields.map { $0 ?? "NULL" }.joined(separator: "|"))
      }
    }
    return result
  }

  /// The columns that can be written.
  private func columns(of table: String) throws -> [(name: String, type: String)] {
    try admin.query(
      """
      SELECT column_name::text, udt_name::text FROM information_schema.columns
      WHERE table_name = $1 AND table_schema = current_schema() AND is_generated = 'NEVER'
      ORDER BY ordinal_position
      """, [.text(table)]
    ).map { (try $0.text(0), try $0.text(1)) }
  }

  /// A statement that breaks one row of the table.
  func breakage(_ kind: String, _ table: String, _ generator: inout SeededGenerator) throws
    -> Statement?
  {
    let columns = try columns(of: table)
    let count = try admin.query("SELECT count(*) FROM \(table)").only.int(0)
    guard count > 0 else { return nil }
    // In a partitioned table, a ctid alone matches a row in each partition.
    let place = """
      (tableoid, ctid) = (
        SELECT tableoid, ctid FROM \(table) ORDER BY \(table)::text COLLATE "C"
        OFFSET \(Int.random(in: 0..<count, using: &generator)) LIMIT 1)
      """
    if kind == "DELETE" { return Statement("DELETE FROM \(table) WHERE \(place)") }
    let choice = columns.filter {
      !CorruptionTests.silent.contains("\(table).\($0.name)")
        && (kind == "UPDATE" || isKey($0.name, of: table))
    }
    guard let column = choice.randomElement(using: &generator) else { return nil }
    let changed =
      kind == "INSERT" && column.type == "int8"
      ? "\(column.name) + 1000003" : Self.changed(column.name, column.type)
    if kind == "UPDATE" {
      return Statement("UPDATE \(table) SET \(column.name) = \(changed) WHERE \(place)")
    }
    // The key by which feeds refer to a post is unique too.
    let copied = columns.map { other in
      // Recipients who have read nothing are not listed.
      if other.name == "read_all_at" { return "'2025-02-03T04:05:06Z'" }
      return other.name == column.name
        ? changed
        : other.name == "post_key" && table == "posts"
          ? "post_key + 1" : other.name
    }
    return Statement(
      """
      INSERT INTO \(table) (\(columns.map(\.name).joined(separator: ", ")))
      SELECT \(copied.joined(separator: ", ")) FROM \(table) WHERE \(place)
      """)
  }

  /// Columns that identify the row.
  private func isKey(_ column: String, of table: String) -> Bool {
    let keys: [String: [String]] = [
      "follows": ["follower", "followee"], "follow_counts": ["user_key"], "posts": ["post_id"],
      "feed_entries": ["owner", "post_key"], "messages": ["message_id"],
      "conversations": ["owner", "peer"], "likes": ["post_id", "actor"],
      "comments": ["comment_id"], "post_counts": ["post_id"], "post_facts": ["post_id"],
      "message_facts": ["message_id"], "notification_recipients": ["user_id"],
      "notification_marks": ["notification_id"], "notification_mutes": ["at", "event_id"],
      "notification_silences": ["scope", "type", "value", "at", "event_id"],
      "person_blocks": ["blocker", "blocked"],
      "notification_actors": ["source", "subject"],
      "author_subscriptions": ["author", "at", "event_id"],
      "notification_sizes": ["notification_id"], "notifications": ["notification_id"],
      "profiles": ["user_id"], "alarms": ["notification_id"], "author_posts": ["author"],
      "conversation_reads": ["user_id", "peer_id"], "profile_edits": ["user_id", "field"],
      "reminders": ["user_id", "reminder_id"], "reminder_people": ["user_id"],
    ]
    return keys[table]?.contains(column) ?? false
  }

  private static func changed(_ column: String, _ type: String) -> String {
    switch type {
    case "bool": "NOT \(column)"
    case "text": "coalesce(\(column), '') || '~'"
    case "int2": "(\(column) + 1)::smallint"
    case "int4", "int8": "\(column) + 1"
    case "timestamptz":
      "CASE WHEN \(column) > '-infinity' THEN \(column) + interval '1 second' "
        + "ELSE '2025-02-03T04:05:06Z' END"
    case "date": "\(column) + 1"
    case "uuid": "md5(coalesce(\(column)::text, ''))::uuid"
    case "jsonb": "\(column) || '[{}]'"
    case "_text": "array_append(\(column), '~')"
    default: "NULL"
    }
  }

  /// Restores the table.
  func restore(_ table: String) throws {
    try admin.script("SET session_replication_role = replica; DELETE FROM \(table)")
    let columns = try columns(of: table).map(\.name).joined(separator: ", ")
    try admin.script(
      "INSERT INTO \(table) (\(columns)) SELECT \(columns) FROM kept.\(table);"
        + " SET session_replication_role = origin")
  }

  /// Copies every table, for `restore`.
  func keepAll() throws {
    try admin.script("CREATE SCHEMA kept")
    for table in Set(CanonicalTable.all.flatMap(\.covers)) {
      try admin.script("CREATE TABLE kept.\(table) AS SELECT * FROM \(table)")
    }
  }
}
