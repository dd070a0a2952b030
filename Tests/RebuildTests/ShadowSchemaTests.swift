import Postgres
import TestSupport
import Testing

@testable import Rebuild

/// The tables that a rebuild fills have the same definitions as the live ones.
@Suite struct ShadowSchemaTests {
  @Test func `every table, sequence and view of the schema is listed`() throws {
    let connection = try TestDatabase.connection()
    let relations = try connection.query(
      """
      SELECT c.relname::text, c.relkind::text FROM pg_class c
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
        AND NOT c.relispartition
        -- Sequences that a column owns move with it.
        AND NOT EXISTS (
          SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i')
            AND c.relkind = 'S')
      """
    ).map { (name: try $0.text(0), kind: try $0.text(1)) }
    let tables =
      TableGroup.allCases.flatMap(\.tables) + TableGroup.sharedTables + TableGroup.liveTables
    #expect(Set(tables).count == tables.count)
    #expect(Set(tables) == Set(relations.filter { "rpf".contains($0.kind) }.map(\.name)))
    #expect(
      Set(TableGroup.views.map(\.name))
        == Set(relations.filter { "vm".contains($0.kind) }.map(\.name)))
    #expect(
      Set(TableGroup.allCases.flatMap(\.sequences) + TableGroup.sharedSequences)
        == Set(relations.filter { $0.kind == "S" }.map(\.name)))
  }

  @Test func `views show the live tables, and added grants and storage parameters are kept`() throws
  {
    let fixture = try Fixture()
    try fixture.connection().script(
      """
      GRANT DELETE, UPDATE (recipient) ON notifications TO magpie_reader;
      ALTER TABLE notifications SET (autovacuum_vacuum_scale_factor = 0.05);
      ALTER TABLE alarms RESET (fillfactor);
      """)
    try fixture.with { try $0.run([.notifications, .alarms]) }
    try fixture.with { try $0.swap() }
    for view in ["shown_notifications", "shown_alarms"] {
      let schemas = try fixture.texts(
        """
        SELECT DISTINCT t.relnamespace::regnamespace::text FROM pg_depend d
        JOIN pg_rewrite r ON r.oid = d.objid AND d.classid = 'pg_rewrite'::regclass
        JOIN pg_class t ON t.oid = d.refobjid AND d.refclassid = 'pg_class'::regclass
        WHERE r.ev_class = '\(view)'::regclass
        """)
      #expect(schemas == ["public"])
    }
    #expect(
      try fixture.texts(
        "SELECT has_table_privilege('magpie_reader', 'notifications', 'DELETE')::text") == ["true"])
    #expect(
      try fixture.texts(
        "SELECT has_table_privilege('magpie_reader', 'shown_alarms', 'SELECT')::text") == ["true"])
    #expect(
      try fixture.texts(
        """
        SELECT attname::text FROM pg_attribute a
        WHERE attrelid = 'notifications'::regclass
          AND EXISTS (SELECT FROM aclexplode(attacl) g WHERE g.privilege_type = 'UPDATE')
        """) == ["recipient"])
    #expect(
      try fixture.texts(
        """
        SELECT o FROM pg_class, unnest(reloptions) AS o
        WHERE oid = 'notifications'::regclass AND o NOT LIKE 'fillfactor=%'
          OR oid = 'alarms'::regclass
        """) == ["autovacuum_vacuum_scale_factor=0.05"])
  }

  @Test(
    arguments: [[TableGroup.feeds], [.notifications, .alarms], [.alarms], TableGroup.allCases]
  ) func `columns, indexes, constraints, triggers, storage and grants are those of the live tables`(
    _ tableGroups: [TableGroup]
  ) throws {
    let connection = try TestDatabase.connection()
    let functions = "SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
    let before = try connection.query(functions).only.int(0)
    let schema = try ShadowSchema.make(
      tableGroups: tableGroups, topicPrefix: "t.", beside: "public", connection)
    let missing = try schema.missingKeys(connection)
    #expect(missing.tables.isEmpty != tableGroups.contains(.feeds))
    for statement in missing.partitions + missing.tables { try connection.script(statement) }
    let tables = tableGroups.flatMap(\.tables) + TableGroup.sharedTables
    let (live, shadow) = (
      try description("public", tables, connection),
      try description(schema.name, tables, connection)
    )
    #expect(live.count > 50)
    #expect(Set(live).symmetricDifference(shadow).sorted() == [])
    // Nothing else exists: no functions, no tables of other groups.
    let others = try connection.query(
      """
      SELECT relname::text FROM pg_class
      WHERE relnamespace = $1::text::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
        AND relname <> ALL ($2) AND relname <> 'rebuild_state'
      UNION ALL SELECT proname::text FROM pg_proc WHERE pronamespace = $1::text::regnamespace
      """, [.text(schema.name), .textArray(tables)])
    let names = try others.map { try $0.text(0) }
    #expect(names == [])
    // A session with both schemas in its search_path writes to the shadow schema.
    #expect(
      try ShadowSchema.find(.shadow, beside: "public", connection)?.tableGroups == tableGroups)
    try connection.script("DROP SCHEMA \(schema.name) CASCADE")
    #expect(try description("public", tables, connection) == live)
    #expect(try connection.query(functions).only.int(0) == before)
  }

  /// One line per column, index, constraint and so on, without the schema's name.
  private func description(_ schema: String, _ tables: [String], _ connection: Connection) throws
    -> [String]
  {
    try connection.script("SET search_path = \(schema), public")
    defer { try? connection.script("SET search_path = public") }
    return try connection.query(
      """
      WITH t AS (
        SELECT c.oid, c.relname, c.reloptions, c.relacl, c.relkind FROM pg_class c
        WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'p')
          AND (c.relname = ANY ($2) OR EXISTS (
            SELECT FROM pg_partition_ancestors(c.oid) a (name) JOIN pg_class p ON p.oid = a.name
            WHERE p.relname = ANY ($2)))
      )
      -- Partitions by time begin at different times.
      SELECT regexp_replace(
        replace(line, $1 || '.', ''), 'feed_entries_from_[0-9]+', 'feed_entries_from_', 'g')
      FROM (
        SELECT concat_ws(' ', 'table', relname, relkind, reloptions,
          (SELECT string_agg(g.grantee::regrole || ' ' || g.privilege_type, ',' ORDER BY 1)
           FROM aclexplode(relacl) g WHERE g.grantee <> 0)) AS line FROM t
        UNION ALL
        SELECT concat_ws(' ', 'column', t.relname, a.attnum, a.attname, a.attnotnull, a.attidentity,
          a.attgenerated, a.attcollation, format_type(a.atttypid, a.atttypmod),
          pg_get_expr(d.adbin, d.adrelid))
        FROM t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0
        LEFT JOIN pg_attrdef d ON d.adrelid = t.oid AND d.adnum = a.attnum
        UNION ALL
        SELECT 'index ' || pg_get_indexdef(i.indexrelid) FROM t JOIN pg_index i ON i.indrelid = t.oid
        UNION ALL
        SELECT concat_ws(' ', 'constraint', t.relname, c.conname, pg_get_constraintdef(c.oid))
        FROM t JOIN pg_constraint c ON c.conrelid = t.oid
        UNION ALL
        SELECT 'trigger ' || pg_get_triggerdef(g.oid, true)
        FROM t JOIN pg_trigger g ON g.tgrelid = t.oid AND NOT g.tgisinternal
      ) lines ORDER BY 1
      """, [.text(schema), .textArray(tables)]
    ).map { try $0.text(0) }
  }
}
