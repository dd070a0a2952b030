/// A string that is compared, ordered and hashed by its UTF-8 bytes.
///
/// Swift's `String` equality is Unicode canonical equivalence: "é" as one scalar and as two are
/// equal. Ids are opaque and PostgreSQL compares them byte by byte (collation "C"), so key
/// collections by this type; keyed by `String`, two people could become one.
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
  /// Whether both strings hold the same bytes, which is stricter than `==`.
  public func hasSameBytes(as other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    // Compares the bytes in memory: element by element it takes a twentieth of a worker's CPU time.
    // Only bridged strings have no contiguous storage.
    return utf8.withContiguousStorageIfAvailable { mine in
      other.utf8.withContiguousStorageIfAvailable { mine.elementsEqual($0) }
    }.flatMap(\.self) ?? utf8.elementsEqual(other.utf8)
  }
}
