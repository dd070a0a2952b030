import Crypto

/// Who an erased person is to those who wrote to them: nobody who can be recognized, but the same in all
/// of their conversation.
public enum FormerPerson {
  /// What the ids of former people begin with. No other id does.
  public static let prefix = "erased:"

  /// - Parameter hash: the person's row in `erasures`, in hexadecimal.
  public static func id(hash: String) -> String { prefix + hash }

  /// Whether it is the id of a former person.
  public static func has(id: String) -> Bool {
    // Nearly all ids are told apart by their first byte.
    id.utf8.first == prefix.utf8.first && id.utf8.starts(with: prefix.utf8)
  }
}

/// HMAC-SHA256 of ids, as the function `person_hash` of the database computes it.
public struct PersonHash: Sendable {
  private var inner = SHA256()
  private var outer = SHA256()

  /// - Parameters:
  ///   - innerPad: the column of that name of the table `erasure_key`.
  ///   - outerPad: likewise.
  public init(innerPad: [UInt8], outerPad: [UInt8]) {
    inner.update(data: innerPad)
    outer.update(data: outerPad)
  }

  /// The hash of an id.
  public func callAsFunction(_ id: String) -> [UInt8] {
    var (inner, outer) = (inner, outer)
    inner.update(data: Array(id.utf8))
    outer.update(data: Array(inner.finalize()))
    return Array(outer.finalize())
  }
}
