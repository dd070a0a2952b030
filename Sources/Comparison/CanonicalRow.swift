import Events

/// A row of a ``CanonicalTable``.
public struct CanonicalRow: Sendable {
  /// Whose it is.
  public var person: String
  /// What tells it from the person's other rows.
  public var key: [String]
  /// In the order of the table's fields; nil for NULL.
  public var fields: [String?]

  public init(person: String, key: [String], fields: [String?]) {
    self.person = person
    self.key = key
    self.fields = fields
  }

  /// Below zero when this row comes before the other, 0 when both are about the same; byte by byte,
  /// as PostgreSQL orders under `COLLATE "C"`.
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

/// Rows one after the other, nil after the last; ordered by person and key.
public typealias RowSource = () throws -> CanonicalRow?

/// The rows in the order of the streams.
public func rowSource(sorting rows: [CanonicalRow]) -> RowSource {
  var iterator = rows.sorted { $0.order(to: $1) < 0 }.makeIterator()
  return { iterator.next() }
}

/// Below zero when `left` comes first, byte by byte.
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
