import Crypto

/// One of several equal parts of all ids, selected by a hash of the id. Comparing slice by slice
/// bounds memory regardless of the number of people.
public struct Slice: Sendable, Hashable {
  /// The maximum number of slices.
  public static let countMax = 65_536

  public let index: Int
  public let count: Int

  /// - Parameters:
  ///   - index: 0 to `count` - 1.
  ///   - count: 1 to ``countMax``.
  public init(_ index: Int, of count: Int) {
    self.count = min(max(count, 1), Self.countMax)
    self.index = min(max(index, 0), self.count - 1)
  }

  /// The first hash prefix of slice `index`.
  private func start(_ index: Int) -> Int { index * Self.countMax / count }

  /// Whether the id belongs to this slice.
  public func contains(_ id: String) -> Bool {
    guard count > 1 else { return true }
    var hash = SHA256()
    var id = id
    id.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
    let digest = hash.finalize()
    let prefix = digest.prefix(2).reduce(0) { $0 << 8 | Int($1) }
    return (start(index)..<start(index + 1)).contains(prefix)
  }

  /// `contains` as SQL on a text expression.
  func condition(_ sql: String) -> String {
    guard count > 1 else { return "true" }
    let hash = "sha256(convert_to(\(sql), 'UTF8'))"
    let first = "\(hash) >= '\\x\(hex(start(index)))'::bytea"
    // The last slice has no two-byte upper bound.
    guard index + 1 < count else { return first }
    return "\(first) AND \(hash) < '\\x\(hex(start(index + 1)))'::bytea"
  }

  private func hex(_ value: Int) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
  }
}
