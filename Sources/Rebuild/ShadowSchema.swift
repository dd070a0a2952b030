import Postgres
import Schema

/// An identifier as SQL text.
func quoted(_ identifier: String) -> String {
  "\"" + identifier.replacing("\"", with: "\"\"") + "\""
}

/// Where the tables are that a rebuild makes, beside the ones in use.
struct ShadowSchema {
  /// Where the tables in use are.
  var live: String
  /// The schema of this one: `magpie_shadow` for tables that are being made, `magpie_old` for those
  /// that were exchanged.
  var name: String
  var rooms: [Room]
  var topicPrefix: String
  var isComplete: Bool

  static let nextStep = "`magpie replay --drop-old` removes it."

  static func name(of kind: Kind, beside live: String) -> String {
    (live == "public" ? "magpie" : live) + (kind == .shadow ? "_shadow" : "_old")
  }

  enum Kind { case shadow, old }

  /// Whether these are former tables.
  var wasInUse: Bool { name == Self.name(of: .old, beside: live) }
  /// Every table of the rooms.
  var tables: [String] { rooms.flatMap(\.tables) }
  /// The views that show any of them, in the order of their making.
  var views: [String] { Room.views.filter { !$0.rooms.isDisjoint(with: rooms) }.map(\.name) }
  /// For `SET search_path`: functions and what is not rebuilt come from the live schema.
  var searchPath: String { "\(quoted(name)), \(quoted(live))" }

  /// The schema that holds the tables in use.
  static func live(_ connection: Connection) throws -> String {
    try Migrations.check(connection)
    return try connection.query(
      "SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'schema_migrations'::regclass"
    ).only.text(0).replacing("\"", with: "")
  }

  /// What is there of the kind; nil when there is nothing. A schema whose making was cut off has no
  /// state and counts as absent.
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
    let rooms = try row.text(0).split(separator: ",").map { part in
      guard let room = Room(rawValue: String(part)) else {
        throw RebuildError(
          "\(name) holds \(part), which this version does not know",
          "Go on with the version that made it.")
      }
      return room
    }
    let schema = ShadowSchema(
      live: live, name: name, rooms: rooms, topicPrefix: try row.text(1),
      isComplete: try row.bool(2))
    try schema.checkVersion(connection)
    return schema
  }

  /// Refuses tables that lack a migration which the live ones have by now.
  private func checkVersion(_ connection: Connection) throws {
    let differ = try connection.query(
      """
      SELECT count(*) FROM \(quoted(live)).schema_migrations l
      FULL JOIN \(quoted(name)).schema_migrations s USING (version, checksum)
      WHERE l.name IS NULL OR s.name IS NULL
      """)
    guard try differ.only.int(0) == 0 else {
      throw RebuildError(
        "the database was migrated since the tables in \(name) were made",
        Self.nextStep + " Then rebuild again.")
    }
  }

  /// Makes empty tables of the rooms, by the very migrations that made the live ones.
  static func make(
    rooms: [Room], topicPrefix: String, beside live: String, _ connection: Connection
  ) throws -> ShadowSchema {
    let schema = ShadowSchema(
      live: live, name: name(of: .shadow, beside: live), rooms: rooms, topicPrefix: topicPrefix,
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
      if rooms.contains(.notifications) {
        // Greater than any whose snapshots were ever published, so these replace them.
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
        COMMENT ON TABLE rebuild_state IS 'what magpie replay --rebuild makes here';
        """)
      try connection.query(
        "INSERT INTO rebuild_state (rooms, topic_prefix) VALUES ($1, $2)",
        [.textArray(rooms.map(\.rawValue)), .text(topicPrefix)])
    }
    return schema
  }

  /// Functions exist once, in the live schema, and work on whichever tables come first in the
  /// search_path; tables of other rooms are read from the live schema.
  private func dropWhatIsNotRebuilt(_ connection: Connection) throws {
    let functions = try connection.query(
      """
      SELECT format('%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid))
      FROM pg_proc p WHERE p.pronamespace = $1::text::regnamespace
      """, [.text(quoted(name))]
    ).map { try $0.text(0) }
    for function in functions {
      // One may have gone with another; the live one of the same name must not go instead.
      try connection.script("DROP ROUTINE IF EXISTS \(quoted(name)).\(function) CASCADE")
    }
    let others = Room.allCases.filter { !rooms.contains($0) }
    for table in others.flatMap(\.tables) {
      try connection.script("DROP TABLE \(quoted(name)).\(quoted(table)) CASCADE")
    }
    for sequence in others.flatMap(\.sequences) {
      try connection.script("DROP SEQUENCE \(quoted(name)).\(quoted(sequence))")
    }
  }

  /// The triggers call the live functions; names resolve to the shadow's tables first.
  private func makeTriggersAndViews(_ connection: Connection) throws {
    try connection.script("SET LOCAL search_path = \(quoted(live))")
    let triggers = try connection.query(
      """
      SELECT pg_get_triggerdef(t.oid, true)
      FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
      WHERE NOT t.tgisinternal AND c.relnamespace = $1::text::regnamespace AND c.relname = ANY ($2)
      ORDER BY t.oid
      """, [.text(quoted(live)), .textArray(tables + Room.sharedTables)]
    ).map { try $0.text(0) }
    let views = try viewDefinitions(connection)
    try connection.script("SET LOCAL search_path = \(searchPath)")
    for trigger in triggers { try connection.script(trigger) }
    for (view, definition) in views {
      try connection.script(
        "CREATE OR REPLACE VIEW \(quoted(name)).\(quoted(view)) AS \(definition)")
    }
  }

  /// The live views' texts, with names that the search_path resolves.
  func viewDefinitions(_ connection: Connection) throws -> [(String, String)] {
    try views.map { view in
      let text = try connection.query(
        "SELECT pg_get_viewdef(to_regclass($1), true)", [.text("\(quoted(live)).\(quoted(view))")])
      return (view, try text.only.text(0))
    }
  }
}
