import CLibPQ

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Identifies a column: by position from 0 (`Int`) or by name (`String`; the first column with that
/// name).
public protocol ColumnIdentifier: Sendable {
  /// The column's position in `names`; nil if there is none.
  func position(in names: [String]) -> Int?
}

extension Int: ColumnIdentifier {
  /// The number itself, if it is a valid position.
  public func position(in names: [String]) -> Int? { names.indices.contains(self) ? self : nil }
}

extension String: ColumnIdentifier {
  /// The position of the first column with this name.
  public func position(in names: [String]) -> Int? { names.firstIndex(of: self) }
}

/// One row of a result.
///
/// Every accessor throws a `decoding` error if the column does not exist, has a different type, or
/// is NULL; accessors ending in `OrNil` return nil for NULL.
public struct Row: Sendable {
  let result: ResultStorage
  let index: Int

  /// Whether the column is NULL.
  public func isNull(_ column: some ColumnIdentifier) throws -> Bool {
    try cell(column).bytes == nil
  }

  /// text, varchar, name, enums; json and jsonb as their text.
  public func text(_ column: some ColumnIdentifier) throws -> String {
    try required(column, textOrNil(column))
  }

  /// As `text`; nil for NULL.
  public func textOrNil(_ column: some ColumnIdentifier) throws -> String? {
    try optional(column) { try $0.text() }
  }

  /// smallint, integer, bigint, oid, and whole numerics (such as `sum(bigint)`).
  public func int(_ column: some ColumnIdentifier) throws -> Int {
    try required(column, intOrNil(column))
  }

  /// As `int`; nil for NULL.
  public func intOrNil(_ column: some ColumnIdentifier) throws -> Int? {
    try optional(column) { Int(try $0.integer()) }
  }

  /// As `int`, for callers that need an `Int64`.
  public func int8(_ column: some ColumnIdentifier) throws -> Int64 {
    try required(column, int8OrNil(column))
  }

  /// As `int8`; nil for NULL.
  public func int8OrNil(_ column: some ColumnIdentifier) throws -> Int64? {
    try optional(column) { try $0.integer() }
  }

  /// boolean.
  public func bool(_ column: some ColumnIdentifier) throws -> Bool {
    try required(column, boolOrNil(column))
  }

  /// As `bool`; nil for NULL.
  public func boolOrNil(_ column: some ColumnIdentifier) throws -> Bool? {
    try optional(column) { try $0.bool() }
  }

  /// double precision and real.
  public func double(_ column: some ColumnIdentifier) throws -> Double {
    try required(column, doubleOrNil(column))
  }

  /// As `double`; nil for NULL.
  public func doubleOrNil(_ column: some ColumnIdentifier) throws -> Double? {
    try optional(column) { try $0.double() }
  }

  /// bytea.
  public func bytea(_ column: some ColumnIdentifier) throws -> [UInt8] {
    try required(column, byteaOrNil(column))
  }

  /// As `bytea`; nil for NULL.
  public func byteaOrNil(_ column: some ColumnIdentifier) throws -> [UInt8]? {
    try optional(column) { try $0.bytea() }
  }

  /// uuid.
  public func uuid(_ column: some ColumnIdentifier) throws -> UUID {
    try required(column, uuidOrNil(column))
  }

  /// As `uuid`; nil for NULL.
  public func uuidOrNil(_ column: some ColumnIdentifier) throws -> UUID? {
    try optional(column) { try $0.uuid() }
  }

  /// timestamptz, in microseconds since 1970-01-01 UTC; `infinity` is `Int64.max`, `-infinity`
  /// `Int64.min`.
  public func timestamptz(_ column: some ColumnIdentifier) throws -> Int64 {
    try required(column, timestamptzOrNil(column))
  }

  /// As `timestamptz`; nil for NULL.
  public func timestamptzOrNil(_ column: some ColumnIdentifier) throws -> Int64? {
    try optional(column) { try $0.timestamptz() }
  }

  private func cell(_ column: some ColumnIdentifier) throws -> Cell {
    guard let position = column.position(in: result.columnNames) else {
      throw PostgresError.decoding(
        "no column \(column); the columns are "
          + result.columnNames.joined(separator: ", "))
    }
    let (row, field) = (Int32(index), Int32(position))
    let type = result.columnTypes[position]
    guard PQgetisnull(result.pointer, row, field) == 0,
      let start = PQgetvalue(result.pointer, row, field)
    else { return Cell(type: type, bytes: nil) }
    return Cell(
      type: type,
      bytes: UnsafeRawBufferPointer(
        start: start, count: Int(PQgetlength(result.pointer, row, field))))
  }

  func optional<T>(_ column: some ColumnIdentifier, _ decode: (Cell) throws -> T) throws -> T? {
    let cell = try cell(column)
    guard cell.bytes != nil else { return nil }
    do {
      // The bytes belong to the result: keep it alive while decoding.
      return try withExtendedLifetime(result) { try decode(cell) }
    } catch var error as PostgresError {
      error.message = "column \(column): \(error.message)"
      throw error
    }
  }

  func required<T>(_ column: some ColumnIdentifier, _ value: T?) throws -> T {
    guard let value else {
      throw PostgresError.decoding("column \(column) is NULL in row \(index)")
    }
    return value
  }
}

extension Row {
  /// Says whose transaction is open. The first columns are the process id, the user, the application's name
  /// and for how long.
  package func openTransaction() throws -> String {
    "process \(try int(0)) of \(try textOrNil(1) ?? "?") (\(try textOrNil(2) ?? "")), "
      + "open for \(try textOrNil(3) ?? "?")"
  }
}
