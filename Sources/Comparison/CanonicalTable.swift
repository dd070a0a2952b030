/// What one table says about people, in a form that two databases, or a database and the model, can
/// be compared in: text ids instead of interned keys, and without counters of versions, tombstones'
/// leftovers and garbage that nobody reads.
///
/// All names in the SQL are unqualified: the connection's `search_path` decides whose rows they are.
public struct CanonicalTable: Sendable {
  /// The worker whose table it is.
  public enum Room: String, Sendable, CaseIterable {
    case feeds, notifications, alarms
  }

  /// A column that is compared.
  public struct Field: Sendable {
    public var name: String
    /// SQL of any type; compared as text.
    public var sql: String

    public init(_ name: String, _ sql: String) {
      self.name = name
      self.sql = sql
    }
  }

  /// The table's name, or what it is to people (`feeds` for the entries, pulled posts and floors).
  public var name: String
  public var room: Room
  /// The tables of the schema that it covers.
  public var covers: [String]
  /// SQL: whose row it is; the id of a user.
  public var person: String
  /// SQL: what tells the person's rows apart.
  public var key: [String]
  public var fields: [Field]
  /// SQL: the id by which the table is cut into slices: mostly the person.
  public var slicedBy: String
  /// The FROM clause and what follows it.
  public var from: String

  init(
    _ name: String, _ room: Room, covers: [String]? = nil, person: String, key: [String],
    fields: [Field], slicedBy: String? = nil, from: String
  ) {
    self.name = name
    self.room = room
    self.covers = covers ?? [name]
    self.person = person
    self.key = key
    self.fields = fields
    self.slicedBy = slicedBy ?? person
    self.from = from
  }

  /// All of the table's rows, or a slice's.
  ///
  /// - Parameter isOrdered: by person and key, byte by byte, which is how streams are merged.
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

/// A `timestamptz` as `EventTime.rfc3339` writes it; NULL for never.
func time(_ column: String) -> String {
  """
  replace(to_char(nullif(\(column), '-infinity') AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '.000000Z', 'Z')
  """
}

extension CanonicalTable.Field {
  /// A column of the table, as it is.
  static func plain(_ columns: String...) -> [Self] {
    columns.map { Self($0.split(separator: ".").last.map(String.init) ?? $0, $0) }
  }

  /// The version of the event that decided the row.
  static func version(_ alias: String) -> [Self] {
    [
      Self("version_time", time("\(alias).version_time")),
      Self("version_id", "\(alias).version_id"),
    ]
  }
}
