public import Postgres

extension CanonicalTable {
  /// The table's rows, read through a cursor: no more than a few hundred are in memory at a time.
  ///
  /// - Parameters:
  ///   - connection: in a transaction, REPEATABLE READ if several tables are to agree. Settings of
  ///     the session are changed for reading much.
  ///   - cursor: a name for the cursor, which no other open one of the connection may have.
  public func rows(
    on connection: Connection, slice: Slice? = nil, cursor: String = "canonical_rows"
  ) throws -> RowSource {
    // The whole of it is wanted, not the beginning of it soon.
    try connection.script("SET LOCAL cursor_tuple_fraction = 1; SET LOCAL jit = off")
    try connection.query(
      "DECLARE \(cursor) NO SCROLL CURSOR FOR \(query(slice: slice))")
    var page: ArraySlice<Row> = []
    var isOpen = true
    let (keys, count) = (key.count, fields.count)
    return {
      if page.isEmpty, isOpen {
        page = ArraySlice(try connection.query("FETCH 500 FROM \(cursor)"))
        if page.isEmpty {
          isOpen = false
          try connection.query("CLOSE \(cursor)")
        }
      }
      guard let row = page.popFirst() else { return nil }
      return CanonicalRow(
        person: try row.textOrNil(0) ?? "",
        key: try (1..<1 + keys).map { try row.textOrNil($0) ?? "" },
        fields: try (1 + keys..<1 + keys + count).map { try row.textOrNil($0) })
    }
  }
}

/// What a table comes to: equal for tables that say the same, whatever order their rows lie in.
public struct TableChecksum: Sendable, Equatable {
  public var table: String
  public var rows: Int64
  /// Two sums of hashes of the rows.
  public var checksum: String
}

extension CanonicalTable {
  /// The checksum, computed by the server.
  public func checksum(on connection: Connection) throws -> TableChecksum {
    let row = try connection.query(
      """
      SELECT count(*), coalesce(sum(hashtextextended(r::text, 0)::numeric), 0)::text
        || ':' || coalesce(sum(hashtextextended(r::text, 1)::numeric), 0)::text
      FROM (\(query(isOrdered: false))) AS r
      """
    ).only
    return TableChecksum(table: name, rows: try row.int8(0), checksum: try row.text(1))
  }
}
