/// A row that is not what it should be.
public struct Difference: Sendable {
  /// In which way.
  public enum Kind: String, Sendable, CaseIterable, Codable {
    /// It should be there and is not.
    case missing
    /// It is there and should not be.
    case extra
    /// It says something else.
    case different
  }

  /// What a column says and what it should say; nil for NULL and where there is no row.
  public struct Column: Sendable, Codable {
    public var name: String
    public var expected: String?
    public var found: String?
  }

  public var table: String
  public var kind: Kind
  public var person: String
  public var key: [String]
  /// The columns that differ; all of them where the row is missing or extra.
  public var columns: [Column]

  init(_ table: CanonicalTable, expected: CanonicalRow?, found: CanonicalRow?) {
    self.table = table.name
    kind = expected == nil ? .extra : found == nil ? .missing : .different
    person = (expected ?? found)?.person ?? ""
    key = (expected ?? found)?.key ?? []
    columns = table.fields.indices.compactMap { index in
      let (should, does) = (expected?.fields[index], found?.fields[index])
      if expected != nil, found != nil {
        let one = CanonicalRow(person: "", key: [], fields: [should ?? nil])
        let other = CanonicalRow(person: "", key: [], fields: [does ?? nil])
        if one.hasSameFields(as: other) { return nil }
      }
      return Column(name: table.fields[index].name, expected: should ?? nil, found: does ?? nil)
    }
  }

  /// One that is about no table of rows.
  public init(
    table: String, kind: Kind, person: String, key: [String], columns: [(String, String?, String?)]
  ) {
    (self.table, self.kind, self.person, self.key) = (table, kind, person, key)
    self.columns = columns.map { Column(name: $0.0, expected: $0.1, found: $0.2) }
  }
}

/// Walks two ordered streams once, side by side, in the memory of two rows.
///
/// - Parameters:
///   - counted: called with how many rows were read on each side since the last time.
///   - differs: called with each difference, ordered by person and key.
public func merge(
  _ table: CanonicalTable, expected: RowSource, found: RowSource,
  counted: (_ expected: Int, _ found: Int) -> Void = { _, _ in },
  differs: (Difference) throws -> Void
) throws {
  var (should, does) = (try expected(), try found())
  while should != nil || does != nil {
    let order =
      switch (should, does) {
      case (let should?, let does?): should.order(to: does)
      case (_?, nil): -1
      default: 1
      }
    if order < 0 {
      try differs(Difference(table, expected: should, found: nil))
    } else if order > 0 {
      try differs(Difference(table, expected: nil, found: does))
    } else if let left = should, let right = does, !left.hasSameFields(as: right) {
      try differs(Difference(table, expected: should, found: does))
    }
    counted(order <= 0 ? 1 : 0, order >= 0 ? 1 : 0)
    if order <= 0 { should = try expected() }
    if order >= 0 { does = try found() }
  }
}
