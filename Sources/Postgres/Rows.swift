import CLibPQ

/// What a statement returned: its rows (if any), its command tag, how many rows it touched.
///
/// Values stay in the form in which they came and are decoded when asked for.
public struct Rows: Sendable, RandomAccessCollection {
  let result: ResultStorage

  /// How many rows.
  public var count: Int { result.count }
  /// 0; rows are numbered from there.
  public var startIndex: Int { 0 }
  /// `count`.
  public var endIndex: Int { result.count }
  /// The names of the columns, as the server reports them.
  public var columnNames: [String] { result.columnNames }
  /// PostgreSQL's command tag, such as `INSERT 0 3`, `SELECT 1`, `COMMIT`.
  public var commandTag: String { result.commandTag }
  /// How many rows an INSERT, UPDATE, DELETE, MERGE, SELECT or COPY touched; 0 for other commands.
  public var affectedRows: Int { result.affectedRows }

  /// Row number `row`, counted from 0; out of range traps, as in an array.
  public subscript(row: Int) -> Row {
    precondition(row >= 0 && row < count, "row \(row) of \(count)")
    return Row(result: result, index: row)
  }

  /// The only row.
  ///
  /// - Throws: `decoding` when there is not exactly one.
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
/// `@unchecked Sendable`: nothing changes a PGresult after libpq has handed it over; the accessors
/// used here only read, and it is freed by the last reference.
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
