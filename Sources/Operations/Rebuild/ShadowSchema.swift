import Postgres
import Schema

/// A quoted SQL identifier.
package func quoted(_ identifier: String) -> String {
  "\"" + identifier.replacing("\"", with: "\"\"") + "\""
}

/// The schema that holds rebuilt or former tables, next to the live one.
struct ShadowSchema {
  /// The schema of the live tables.
  var live: String
  /// This schema's name: `magpie_shadow` for rebuilt tables, `magpie_old` for former live tables.
  var name: String
  var tableGroups: [TableGroup]
  var topicPrefix: String
  var isComplete: Bool

  /// How to remove the schema of this kind.
  static func removal(of kind: Kind) -> String {
    "`magpie replay --drop-\(kind == .shadow ? "rebuilt" : "old")` removes it."
  }

  static func name(of kind: Kind, beside live: String) -> String {
    (live == "public" ? "magpie" : live) + (kind == .shadow ? "_shadow" : "_old")
  }

  enum Kind { case shadow, old }

  var removal: String { Self.removal(of: wasInUse ? .old : .shadow) }

  /// Whether these are former live tables.
  var wasInUse: Bool { name == Self.name(of: .old, beside: live) }
  /// The names of the consumer groups whose offsets and dead letters belong to the tables.
  var consumerGroups: Parameter { .textArray(tableGroups.map { topicPrefix + $0.worker }) }
  /// All tables of the groups.
  var tables: [String] { tableGroups.flatMap(\.tables) }
  /// The views that read any of them, in creation order.
  var views: [String] {
    TableGroup.views.filter { !$0.tableGroups.isDisjoint(with: tableGroups) }.map(\.name)
  }
  /// For `SET search_path`: functions and other tables resolve to the live schema.
  var searchPath: String { "\(quoted(name)), \(quoted(live))" }

  /// The schema that holds the live tables.
  static func live(_ connection: Connection) throws -> String {
    try Migrations.check(connection)
    return try connection.query(
      "SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'schema_migrations'::regclass"
    ).only.text(0).replacing("\"", with: "")
  }

  /// The schema of this kind; nil if there is none. A schema whose creation was interrupted has no
  /// `rebuild_state` and counts as missing.
  static func find(_ kind: Kind, beside live: String, _ connection: Connection) throws
    -> ShadowSchema?
  {
    let name = name(of: kind, beside: live)
    let exists = try connection.query(
      "SELECT to_regclass($1) IS NOT NULL", [.text("\(quoted(name)).rebuild_state")])
    guard try exists.only.bool(0) else { return nil }
    let row = try connection.query(
      """
      SELECT array_to_string(rooms, ','), topic_prefix, completed_at IS NOT NULL
      FROM \(quoted(name)).rebuild_state
      """
    ).only
    let tableGroups = try row.text(0).split(separator: ",").map { part in
      guard let group = TableGroup(rawValue: String(part)) else {
        throw RebuildError(
          "\(name) holds \(part), which is unknown to this version",
          "Use the version that created it.")
      }
      return group
    }
    let schema = ShadowSchema(
      live: live, name: name, tableGroups: tableGroups, topicPrefix: try row.text(1),
      isComplete: try row.bool(2))
    try schema.checkVersion(connection)
    return schema
  }

  /// Rejects tables whose migrations differ from the live ones.
  func checkVersion(_ connection: Connection) throws {
    let differ = try connection.query(
      """
      SELECT count(*) FROM \(quoted(live)).schema_migrations l
      FULL JOIN \(quoted(name)).schema_migrations s USING (version, checksum)
      WHERE l.name IS NULL OR s.name IS NULL
      """)
    guard try differ.only.int(0) == 0 else {
      throw RebuildError(
        "the database was migrated after the tables in \(name) were created",
        removal + " Then rebuild again.")
    }
  }

  /// Creates empty tables for the groups with the migrations that created the live ones.
  static func make(
    tableGroups: [TableGroup], topicPrefix: String, beside live: String, _ connection: Connection
  ) throws -> ShadowSchema {
    let schema = ShadowSchema(
      live: live, name: name(of: .shadow, beside: live), tableGroups: tableGroups,
      topicPrefix: topicPrefix,
      isComplete: false)
    try connection.script(
      """
      DROP SCHEMA IF EXISTS \(quoted(schema.name)) CASCADE;
      CREATE SCHEMA \(quoted(schema.name));
      SET search_path = \(schema.searchPath);
      """)
    defer { try? connection.script("SET search_path = \(quoted(live))") }
    try Migrations.apply(connection)
    try connection.transaction {
      try schema.dropWhatIsNotRebuilt(connection)
      try schema.makeTriggersAndViews(connection)
      try schema.dropKeys(connection)
      if tableGroups.contains(.notifications) {
        // Above every published generation, so that these snapshots supersede the published ones.
        try connection.script(
          """
          DELETE FROM notification_generations;
          INSERT INTO notification_generations (generation, is_published)
          SELECT max(generation) + 1, false FROM \(quoted(live)).notification_generations;
          """)
      }
      try connection.script(
        """
        CREATE TABLE rebuild_state (
          rooms text[] NOT NULL,
          topic_prefix text NOT NULL,
          started_at timestamptz NOT NULL DEFAULT now(),
          completed_at timestamptz,
          exchanged_at timestamptz
        );
        COMMENT ON TABLE rebuild_state IS 'the state of the rebuild that magpie replay --rebuild keeps in this schema';
        """)
      // Operators watch a rebuild as this role. The tables' own grants are the migrations'.
      try connection.script(
        """
        GRANT USAGE ON SCHEMA \(quoted(schema.name)) TO magpie_reader;
        GRANT SELECT ON rebuild_state TO magpie_reader;
        """)
      try connection.query(
        "INSERT INTO rebuild_state (rooms, topic_prefix) VALUES ($1, $2)",
        [.textArray(tableGroups.map(\.rawValue)), .text(topicPrefix)])
    }
    return schema
  }

  /// The tables that a rebuild fills without their primary key, because building an index once from
  /// sorted entries costs a fraction of inserting each of them.
  private var tablesWithoutKeys: [String] { tables.filter { $0 == "feed_entries" } }

  private func dropKeys(_ connection: Connection) throws {
    for table in tablesWithoutKeys {
      try connection.script(
        "ALTER TABLE \(quoted(name)).\(quoted(table)) DROP CONSTRAINT \(quoted(table + "_pkey"))")
    }
  }

  /// The statements that give these tables and their partitions the primary keys of the live ones, where
  /// they are missing. Those for partitions are independent of each other; those for partitioned tables come after
  /// them, in order, and are quick.
  func missingKeys(_ connection: Connection) throws -> (partitions: [String], tables: [String]) {
    let rows = try connection.query(
      """
      SELECT p.isleaf,
        format('ALTER TABLE %I.%I ADD %s', $1::text, c.relname, pg_get_constraintdef(k.oid))
      FROM unnest($3::text[]) AS t (name)
      JOIN pg_constraint k
        ON k.conrelid = format('%I.%I', $2::text, t.name)::regclass AND k.contype = 'p'
      CROSS JOIN pg_partition_tree(format('%I.%I', $1::text, t.name)::regclass) AS p
      JOIN pg_class c ON c.oid = p.relid
      WHERE NOT EXISTS (
        SELECT FROM pg_constraint s WHERE s.conrelid = c.oid AND s.contype = 'p')
      ORDER BY p.level DESC
      """, [.text(name), .text(live), .textArray(tablesWithoutKeys)]
    ).map { (isLeaf: try $0.bool(0), statement: try $0.text(1)) }
    return (
      rows.filter(\.isLeaf).map(\.statement), rows.filter { !$0.isLeaf }.map(\.statement)
    )
  }

  /// Drops functions, which exist once in the live schema and use the tables that come first in the
  /// search_path, and the tables of other groups, which are read from the live schema.
  private func dropWhatIsNotRebuilt(_ connection: Connection) throws {
    let functions = try connection.query(
      """
      SELECT format('%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid))
      FROM pg_proc p WHERE p.pronamespace = $1::text::regnamespace
      """, [.text(quoted(name))]
    ).map { try $0.text(0) }
    for function in functions {
      // An earlier CASCADE may have dropped it; the qualified name protects the live function.
      try connection.script("DROP ROUTINE IF EXISTS \(quoted(name)).\(function) CASCADE")
    }
    let others = TableGroup.allCases.filter { !tableGroups.contains($0) }
    for table in others.flatMap(\.tables) + TableGroup.liveTables {
      try connection.script("DROP TABLE \(quoted(name)).\(quoted(table)) CASCADE")
    }
    for sequence in others.flatMap(\.sequences) + TableGroup.sharedSequences {
      try connection.script("DROP SEQUENCE \(quoted(name)).\(quoted(sequence))")
    }
  }

  /// The triggers call the live functions, whose table names resolve to the shadow schema first.
  private func makeTriggersAndViews(_ connection: Connection) throws {
    try connection.script("SET LOCAL search_path = \(quoted(live))")
    let triggers = try connection.query(
      """
      SELECT pg_get_triggerdef(t.oid, true)
      FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
      WHERE NOT t.tgisinternal AND c.relnamespace = $1::text::regnamespace AND c.relname = ANY ($2)
      ORDER BY t.oid
      """, [.text(quoted(live)), .textArray(tables + TableGroup.sharedTables)]
    ).map { try $0.text(0) }
    let views = try viewDefinitions(connection)
    try connection.script("SET LOCAL search_path = \(searchPath)")
    for trigger in triggers { try connection.script(trigger) }
    for (view, definition) in views {
      try connection.script(
        "CREATE OR REPLACE VIEW \(quoted(name)).\(quoted(view)) AS \(definition)")
    }
  }

  /// The live views' definitions, with unqualified names that the search_path resolves.
  func viewDefinitions(_ connection: Connection) throws -> [(String, String)] {
    try views.map { view in
      let text = try connection.query(
        "SELECT pg_get_viewdef(to_regclass($1), true)", [.text("\(quoted(live)).\(quoted(view))")])
      return (view, try text.only.text(0))
    }
  }
}
