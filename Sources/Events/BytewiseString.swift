/// A string that is compared, ordered and hashed by its UTF-8 bytes.
///
/// Swift's own `String` equality is Unicode canonical equivalence: "é" as one scalar and as two
/// are equal. Ids are opaque here and PostgreSQL compares them byte by byte (collation "C"), so
/// whatever is keyed by an id must use this type, or two people become one.
public struct BytewiseString: Sendable, Hashable, Comparable, CustomStringConvertible {
  public var string: String

  public init(_ string: String) {
    self.string = string
  }

  public var description: String { string }

  public static func == (left: Self, right: Self) -> Bool {
    left.string.hasSameBytes(as: right.string)
  }

  public static func < (left: Self, right: Self) -> Bool {
    left.string.utf8.lexicographicallyPrecedes(right.string.utf8)
  }

  public func hash(into hasher: inout Hasher) {
    var string = string
    string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(0xFF as UInt8)
  }
}

extension BytewiseString: ExpressibleByStringLiteral {
  public init(stringLiteral value: String) {
    self.init(value)
  }
}

extension String {
  /// Whether both strings are the same bytes, which is stricter than `==`.
  public func hasSameBytes(as other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    // Over the bytes in memory, because comparing element by element takes a twentieth of a worker's
    // time. Only a bridged string has none.
    return utf8.withContiguousStorageIfAvailable { mine in
      other.utf8.withContiguousStorageIfAvailable { mine.elementsEqual($0) }
    }.flatMap(\.self) ?? utf8.elementsEqual(other.utf8)
  }
}
