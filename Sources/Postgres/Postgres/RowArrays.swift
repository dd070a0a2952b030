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

  /// bytea[].
  public func byteaArray(_ column: some ColumnIdentifier) throws -> [[UInt8]?] {
    try array(column) { try $0.bytea() }
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
