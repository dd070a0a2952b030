import Postgres
import Rebuild

/// A table with the columns that can hold a text, as `erasure verify` searches them.
struct SearchedTable {
  enum Kind {
    /// An id as a whole.
    case id
    case text, json, bytes, textArray, bytesArray
    /// An id, if it is a UUID.
    case uuid

    init?(
      _ name: String, category: String, type: String, elementCategory: String?, element: String?
    ) {
      switch (category, type, elementCategory, element) {
      case (_, "json", _, _), (_, "jsonb", _, _): self = .json
      case (_, "bytea", _, _): self = .bytes
      case (_, "uuid", _, _): self = .uuid
      case ("S", _, _, _): self = Self.isID(name) ? .id : .text
      case ("A", _, _, "json"), ("A", _, _, "jsonb"), ("A", _, "S", _): self = .textArray
      case ("A", _, _, "bytea"): self = .bytesArray
      default: return nil
      }
    }

    /// Whether a column holds ids and nothing else, so that an id in it must be equal.
    private static func isID(_ column: String) -> Bool {
      column.hasSuffix("_id") || column == "person"
        || [
          "recipient", "actor", "second_actor", "author", "subscriber", "sender", "receiver",
          "blocker", "blocked", "post_owner",
        ].contains(column)
    }
  }

  struct Column {
    var name: String
    var kind: Kind
  }

  var schema: String
  var name: String
  var columns: [Column] = []
  /// SQL: when what a row says happened; nil if the row does not know.
  var time: String?

  /// Columns of random bytes: keys, hashes and what is encrypted.
  static let random: Set = [
    "erasure_key.inner_pad", "erasure_key.outer_pad", "erasures.person_hash",
    "push_devices.fingerprint", "push_devices.sealed_token", "push_tokens.fingerprint",
  ]

  /// All tables of the schemas, and the columns that the role may not read.
  static func all(_ connection: Connection, schemas: [String]) throws -> (
    tables: [SearchedTable], unreadable: [String]
  ) {
    let rows = try connection.query(
      """
      SELECT n.nspname::text AS schema, c.relname::text AS table, a.attname::text AS column,
        t.typcategory::text AS category, t.typname::text AS type, e.typcategory::text AS element_category,
        e.typname::text AS element,
        has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT') AS readable
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      JOIN pg_type t ON t.oid = a.atttypid
      LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
      WHERE n.nspname = ANY ($1) AND c.relkind IN ('r', 'p', 'm') AND NOT c.relispartition
      ORDER BY array_position($1, n.nspname::text), c.relname, a.attnum
      """, [.textArray(schemas)])
    var tables: [SearchedTable] = []
    var times: [String] = []
    var unreadable: [String] = []
    func close() {
      guard var table = tables.popLast() else { return }
      table.time = eventTime(times)
      times = []
      if !table.columns.isEmpty { tables.append(table) }
    }
    for row in rows {
      let (schema, name) = (try row.text("schema"), try row.text("table"))
      if tables.last.map({ ($0.schema, $0.name) != (schema, name) }) ?? true {
        close()
        tables.append(SearchedTable(schema: schema, name: name))
      }
      let (column, type) = (try row.text("column"), try row.text("type"))
      let isReadable = try row.bool("readable")
      if type == "timestamptz", isReadable { times.append(column) }
      guard !random.contains("\(name).\(column)"),
        let kind = Kind(
          column, category: try row.text("category"), type: type,
          elementCategory: try row.textOrNil("element_category"),
          element: try row.textOrNil("element"))
      else { continue }
      if isReadable {
        tables[tables.count - 1].columns.append(Column(name: column, kind: kind))
      } else {
        unreadable.append("\(schema).\(name).\(column)")
      }
    }
    close()
    return (tables, unreadable)
  }

  /// The version of the row's newest event, or when what it says happened.
  private static func eventTime(_ columns: [String]) -> String? {
    for column in ["version_time", "at", "raised_at", "set_at"] where columns.contains(column) {
      return column
    }
    let marks = [
      "read_at", "deleted_at", "read_all_at", "deleted_all_at", "seen_all_at", "visited_at",
    ].filter(columns.contains)
    return marks.isEmpty ? nil : "greatest(\(marks.joined(separator: ", ")))"
  }
}

extension SearchedTable.Column {
  /// SQL: whether the column may contain one of the texts. `$1` and up are the patterns, `ids` of which are
  /// the id's.
  func condition(patterns: Int) -> String {
    let column = quoted(name)
    func any(_ test: (Int) -> String) -> String {
      "(" + (1...patterns).map(test).joined(separator: " OR ") + ")"
    }
    return switch kind {
    case .id:
      "(\(column)::text = $1 OR \(any { $0 == 1 ? "false" : "strpos(\(column)::text, $\($0)) > 0" }))"
    case .text, .json: any { "strpos(\(column)::text, $\($0)) > 0" }
    case .uuid: "\(column)::text = lower($1)"
    case .bytes: any { "position(convert_to($\($0), 'UTF8') IN \(column)) > 0" }
    case .textArray: any { "strpos(array_to_string(\(column), chr(10)), $\($0)) > 0" }
    case .bytesArray:
      """
      EXISTS (SELECT FROM unnest(\(column)) AS b (bytes) WHERE \
      \(any { "position(convert_to($\($0), 'UTF8') IN b.bytes) > 0" }))
      """
    }
  }

  /// SQL: the value, as `indices` reads it.
  var value: String {
    switch kind {
    case .id, .text, .json, .uuid: "\(quoted(name))::text"
    case .textArray: "\(quoted(name))::text[]"
    case .bytes, .bytesArray: quoted(name)
    }
  }

  /// The texts in the column of a row.
  func indices(_ row: Row, _ index: Int, _ sought: SoughtTexts) throws -> Set<Int> {
    guard try !row.isNull(index) else { return [] }
    switch kind {
    case .id: return sought.indices(inID: try row.text(index))
    // The server has compared it.
    case .uuid: return [0]
    case .text: return sought.indices(inText: try row.text(index).utf8)
    case .json: return sought.indices(inJSON: Array(try row.text(index).utf8))
    case .bytes: return sought.indices(inBytes: try row.bytea(index))
    case .textArray:
      return try row.textArray(index).compactMap(\.self).reduce(into: []) { found, text in
        found.formUnion(
          name == "mentions"
            ? sought.indices(inID: text) : sought.indices(inBytes: Array(text.utf8)))
      }
    case .bytesArray:
      return try row.byteaArray(index).compactMap(\.self).reduce(into: []) {
        $0.formUnion(sought.indices(inBytes: $1))
      }
    }
  }
}
