public import Postgres

extension CanonicalTable {
  /// The table's rows, read through a cursor, a few hundred at a time.
  ///
  /// - Parameters:
  ///   - connection: a connection in a transaction, REPEATABLE READ if several tables must be
  ///     consistent. Changes the transaction's settings for bulk reads.
  ///   - cursor: the cursor's name, unique among the connection's open cursors.
  public func rows(
    on connection: Connection, slice: Slice? = nil, cursor: String = "canonical_rows"
  ) throws -> RowSource {
    // Optimize for reading all rows rather than for the first ones.
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

/// A table's checksum: equal for tables with the same rows, in any order.
public struct TableChecksum: Sendable, Equatable {
  public var table: String
  public var rows: Int64
  /// Two sums of row hashes.
  public var checksum: String
}

extension CanonicalTable {
  /// Computes the checksum on the server.
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
