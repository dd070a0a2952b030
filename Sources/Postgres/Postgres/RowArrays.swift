#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// One-dimensional arrays; NULL elements are nil.
extension Row {
  /// text[], varchar[], and json[] and jsonb[] as text.
  public func textArray(_ column: some ColumnIdentifier) throws -> [String?] {
    try array(column) { try $0.text() }
  }

  /// smallint[], integer[], bigint[].
  public func int8Array(_ column: some ColumnIdentifier) throws -> [Int64?] {
    try array(column) { try $0.integer() }
  }

  /// boolean[].
  public func boolArray(_ column: some ColumnIdentifier) throws -> [Bool?] {
    try array(column) { try $0.bool() }
  }

  /// double precision[].
  public func doubleArray(_ column: some ColumnIdentifier) throws -> [Double?] {
    try array(column) { try $0.double() }
  }

  /// bytea[].
  public func byteaArray(_ column: some ColumnIdentifier) throws -> [[UInt8]?] {
    try array(column) { try $0.bytea() }
  }

  /// uuid[].
  public func uuidArray(_ column: some ColumnIdentifier) throws -> [UUID?] {
    try array(column) { try $0.uuid() }
  }

  /// timestamptz[], in microseconds since 1970-01-01 UTC.
  public func timestamptzArray(_ column: some ColumnIdentifier) throws -> [Int64?] {
    try array(column) { try $0.timestamptz() }
  }

  private func array<T>(
    _ column: some ColumnIdentifier, _ decode: (Cell) throws -> T
  ) throws -> [T?] {
    let values = try optional(column) {
      try $0.elements { try $0.bytes == nil ? nil : decode($0) }
    }
    return try required(column, values)
  }
}
