/// A row that differs from the expected one.
public struct Difference: Sendable {
  /// How a row differs.
  public enum Kind: String, Sendable, CaseIterable, Codable {
    /// Expected but not found.
    case missing
    /// Found but not expected.
    case extra
    /// Found with different values.
    case different
  }

  /// A column's expected and found value; nil for NULL or if there is no such row.
  public struct Column: Sendable, Codable {
    public var name: String
    public var expected: String?
    public var found: String?
  }

  public var table: String
  public var kind: Kind
  public var person: String
  public var key: [String]
  /// The columns that differ; all columns if the row is missing or extra.
  public var columns: [Column]

  init(_ table: CanonicalTable, expected: CanonicalRow?, found: CanonicalRow?) {
    self.table = table.name
    kind = expected == nil ? .extra : found == nil ? .missing : .different
    person = (expected ?? found)?.person ?? ""
    key = (expected ?? found)?.key ?? []
    columns = table.fields.indices.compactMap { index in
      let (expectedValue, foundValue) = (expected?.fields[index], found?.fields[index])
      if expected != nil, found != nil {
        let one = CanonicalRow(person: "", key: [], fields: [expectedValue ?? nil])
        let other = CanonicalRow(person: "", key: [], fields: [foundValue ?? nil])
        if one.hasSameFields(as: other) { return nil }
      }
      return Column(
        name: table.fields[index].name, expected: expectedValue ?? nil, found: foundValue ?? nil)
    }
  }

  /// A difference outside the canonical tables.
  public init(
    table: String, kind: Kind, person: String, key: [String], columns: [(String, String?, String?)]
  ) {
    (self.table, self.kind, self.person, self.key) = (table, kind, person, key)
    self.columns = columns.map { Column(name: $0.0, expected: $0.1, found: $0.2) }
  }
}

/// Merges two ordered sources in one pass, holding one row of each in memory.
///
/// - Parameters:
///   - counted: called with the number of rows read on each side since the last call.
///   - differs: called for each difference, ordered by person and key.
public func merge(
  _ table: CanonicalTable, expected: RowSource, found: RowSource,
  counted: (_ expected: Int, _ found: Int) -> Void = { _, _ in },
  differs: (Difference) throws -> Void
) throws {
  var (expectedRow, foundRow) = (try expected(), try found())
  while expectedRow != nil || foundRow != nil {
    let order =
      switch (expectedRow, foundRow) {
      case (let left?, let right?): left.order(to: right)
      case (_?, nil): -1
      default: 1
      }
    if order < 0 {
      try differs(Difference(table, expected: expectedRow, found: nil))
    } else if order > 0 {
      try differs(Difference(table, expected: nil, found: foundRow))
    } else if let left = expectedRow, let right = foundRow, !left.hasSameFields(as: right) {
      try differs(Difference(table, expected: left, found: right))
    }
    counted(order <= 0 ? 1 : 0, order >= 0 ? 1 : 0)
    if order <= 0 { expectedRow = try expected() }
    if order >= 0 { foundRow = try found() }
  }
}
