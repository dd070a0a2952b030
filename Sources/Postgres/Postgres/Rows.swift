import CLibPQ

/// A statement's result: its rows (if any), command tag, and number of affected rows.
///
/// Values are decoded on access.
public struct Rows: Sendable, RandomAccessCollection {
  let result: ResultStorage

  /// The number of rows.
  public var count: Int { result.count }
  /// Always 0.
  public var startIndex: Int { 0 }
  /// `count`.
  public var endIndex: Int { result.count }
  /// The column names, as reported by the server.
  public var columnNames: [String] { result.columnNames }
  /// PostgreSQL's command tag, such as `INSERT 0 3`, `SELECT 1`, `COMMIT`.
  public var commandTag: String { result.commandTag }
  /// The number of rows affected by an INSERT, UPDATE, DELETE, MERGE, SELECT or COPY; 0 for other
  /// commands.
  public var affectedRows: Int { result.affectedRows }

  /// The row at index `row`; traps if out of range, like an array.
  public subscript(row: Int) -> Row {
    precondition(row >= 0 && row < count, "row \(row) of \(count)")
    return Row(result: result, index: row)
  }

  /// The only row.
  ///
  /// - Throws: `decoding` if there is not exactly one row.
  public var only: Row {
    get throws {
      guard count == 1 else {
        throw PostgresError.decoding("expected one row, got \(count)")
      }
      return self[0]
    }
  }
}

/// Owns a PGresult.
///
/// `@unchecked Sendable`: a PGresult is immutable once libpq returns it; the accessors only read,
/// and the last reference frees it.
final class ResultStorage: @unchecked Sendable {
  let pointer: OpaquePointer
  let count: Int
  let columnNames: [String]
  let columnTypes: [UInt32]

  init(_ pointer: OpaquePointer) {
    self.pointer = pointer
    count = Int(PQntuples(pointer))
    let columns = 0..<PQnfields(pointer)
    columnNames = columns.map { PQfname(pointer, $0).map { String(cString: $0) } ?? "" }
    columnTypes = columns.map { PQftype(pointer, $0) }
  }

  deinit { PQclear(pointer) }

  var commandTag: String { PQcmdStatus(pointer).map { String(cString: $0) } ?? "" }

  var affectedRows: Int {
    PQcmdTuples(pointer).flatMap { Int(String(cString: $0)) } ?? 0
  }
}
