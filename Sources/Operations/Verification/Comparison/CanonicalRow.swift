import Events

/// A row of a ``CanonicalTable``.
public struct CanonicalRow: Sendable {
  /// The user that the row belongs to.
  public var person: String
  /// Identifies the row among the person's rows.
  public var key: [String]
  /// In the order of the table's fields; nil for NULL.
  public var fields: [String?]

  public init(person: String, key: [String], fields: [String?]) {
    self.person = person
    self.key = key
    self.fields = fields
  }

  /// Negative if this row comes first, 0 if both have the same person and key. Compares bytes, like
  /// PostgreSQL with `COLLATE "C"`.
  public func order(to other: Self) -> Int {
    let people = byteOrder(person, other.person)
    if people != 0 { return people }
    for (left, right) in zip(key, other.key) {
      let order = byteOrder(left, right)
      if order != 0 { return order }
    }
    return 0
  }

  func hasSameFields(as other: Self) -> Bool {
    fields.count == other.fields.count
      && zip(fields, other.fields).allSatisfy { left, right in
        switch (left, right) {
        case (nil, nil): true
        case (let left?, let right?): left.hasSameBytes(as: right)
        default: false
        }
      }
  }
}

/// Returns rows one by one, ordered by person and key; nil after the last.
public typealias RowSource = () throws -> CanonicalRow?

/// The rows, sorted.
public func rowSource(sorting rows: [CanonicalRow]) -> RowSource {
  var iterator = rows.sorted { $0.order(to: $1) < 0 }.makeIterator()
  return { iterator.next() }
}

/// Negative if `left` comes first. Compares bytes.
public func byteOrder(_ left: String, _ right: String) -> Int {
  var (left, right) = (left, right)
  return left.withUTF8 { left in
    right.withUTF8 { right in
      for index in 0..<min(left.count, right.count) where left[index] != right[index] {
        return left[index] < right[index] ? -1 : 1
      }
      return left.count - right.count
    }
  }
}
