import Crypto

/// The id of a notification, computable from its contents: a UUID version 5 (RFC 9562) whose name
/// is the recipient, the kind's number, the subject and the day, each preceded by its length in bytes
/// and a colon.
///
/// For a like of post "p" of user "u" on 14 September 2012 the name is `1:u1:01:p10:2012-09-14`.
/// The lengths keep different parts from forming the same name.
public enum NotificationID {
  /// The namespace: 9d1c1f34-6a55-5d0e-8f0b-6d6167706965.
  static let namespace: [UInt8] = [
    0x9D, 0x1C, 0x1F, 0x34, 0x6A, 0x55, 0x5D, 0x0E, 0x8F, 0x0B, 0x6D, 0x61, 0x67, 0x70, 0x69, 0x65,
  ]

  /// - Parameters:
  ///   - kind: the number of the kind's code.
  ///   - day: the UTC day of a kind that is grouped, such as `2012-09-14`; empty for comments and
  ///     mentions, which are not.
  ///   - source: the contribution of another kind that is not grouped; a fifth part of the name.
  /// - Returns: the 36-character form in lower case.
  public static func uuid(
    recipient: String, kind: Int, subject: String, day: String, source: String? = nil
  ) -> String {
    var text = ""
    let bytes = bytes(
      recipient: recipient, kind: kind, subject: subject, day: day, source: source)
    for (index, byte) in bytes.enumerated() {
      if [4, 6, 8, 10].contains(index) { text += "-" }
      text += String(byte >> 4, radix: 16) + String(byte & 0x0F, radix: 16)
    }
    return text
  }

  /// The id as 16 bytes.
  public static func bytes(
    recipient: String, kind: Int, subject: String, day: String, source: String? = nil
  ) -> [UInt8] {
    var hash = Insecure.SHA1()
    hash.update(data: namespace)
    for part in [recipient, String(kind), subject, day] + (source.map { [$0] } ?? []) {
      hash.update(data: Array("\(part.utf8.count):".utf8))
      hash.update(data: Array(part.utf8))
    }
    var bytes = Array(hash.finalize().prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x50
    bytes[8] = bytes[8] & 0x3F | 0x80
    return bytes
  }
}
