/// A table's user-visible content in a canonical form, comparable between two databases or between
/// a database and the model: text ids instead of interned keys, without version counters,
/// tombstones' remains and unread garbage.
///
/// All names in the SQL are unqualified: the connection's `search_path` selects the schema.
public struct CanonicalTable: Sendable {
  /// The worker that owns the table.
  public enum Group: String, Sendable, CaseIterable {
    case feeds, notifications, alarms, reminders
  }

  /// A compared column.
  public struct Field: Sendable {
    public var name: String
    /// An SQL expression of any type; compared as text.
    public var sql: String

    public init(_ name: String, _ sql: String) {
      self.name = name
      self.sql = sql
    }
  }

  /// The table's name, or its user-visible meaning (`feeds` covers entries, pulled posts and
  /// floors).
  public var name: String
  public var group: Group
  /// The database tables that it covers.
  public var covers: [String]
  /// SQL: the id of the user that the row belongs to.
  public var person: String
  /// SQL: identifies the row among the person's rows.
  public var key: [String]
  public var fields: [Field]
  /// SQL: the id that assigns a row to a slice, usually the person.
  public var slicedBy: String
  /// The FROM clause and everything after it.
  public var from: String

  init(
    _ name: String, _ group: Group, covers: [String]? = nil, person: String, key: [String],
    fields: [Field], slicedBy: String? = nil, from: String
  ) {
    self.name = name
    self.group = group
    self.covers = covers ?? [name]
    self.person = person
    self.key = key
    self.fields = fields
    self.slicedBy = slicedBy ?? person
    self.from = from
  }

  /// Selects all rows, or those of a slice.
  ///
  /// - Parameter isOrdered: whether to order by person and key, bytewise, as `merge` requires.
  public func query(slice: Slice? = nil, isOrdered: Bool = true) -> String {
    let names = ["person"] + key.indices.map { "key\($0)" }
    let columns =
      zip([person] + key, names).map { "(\($0))::text COLLATE \"C\" AS \($1)" }
      + fields.enumerated().map { "(\($1.sql))::text AS field\($0)" }
    let filter =
      slice.map { "WHERE \($0.condition("sliced_by"))" } ?? ""
    let order = names.joined(separator: ", ")
    return """
      SELECT \((names + fields.indices.map { "field\($0)" }).joined(separator: ", "))
      FROM (
        SELECT \(columns.joined(separator: ",\n    ")),
          (\(slicedBy))::text AS sliced_by
        \(from)
      ) AS rows \(filter)
      \(isOrdered ? "ORDER BY \(order)" : "")
      """
  }
}

/// A `timestamptz` formatted like `EventTime.rfc3339`; NULL for `-infinity`.
func time(_ column: String) -> String {
  """
  replace(to_char(nullif(\(column), '-infinity') AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '.000000Z', 'Z')
  """
}

extension CanonicalTable.Field {
  /// Plain columns of the table.
  static func plain(_ columns: String...) -> [Self] {
    columns.map { Self($0.split(separator: ".").last.map(String.init) ?? $0, $0) }
  }

  /// The version of the event that determined the row.
  static func version(_ alias: String) -> [Self] {
    [
      Self("version_time", time("\(alias).version_time")),
      Self("version_id", "\(alias).version_id"),
    ]
  }
}
