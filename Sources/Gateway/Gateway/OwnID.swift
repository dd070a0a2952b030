import Crypto
import Foundation

/// Ids that the gateway makes, so that nobody can name another person's event, post, comment or message.
///
/// A fact is the newest event with its id: whoever could choose any id could change what others wrote.
enum OwnID {
  /// An event's id: the same for the same person, action and key, and for nobody else.
  ///
  /// - Parameter key: the request's `Idempotency-Key`; nil for an id that is never made again.
  static func event(_ person: String, _ action: String, key: String?) -> String {
    digest([person, action, key ?? UUID().uuidString])
  }

  /// The id of what the event creates: the person's tag, then a digest of the event's id.
  static func new(_ person: String, event: String) -> String {
    tag(person) + digest(["new", event]).prefix(22)
  }

  /// Whether the gateway made this id for this person.
  static func isOwn(_ id: String, of person: String) -> Bool { id.hasPrefix(tag(person)) }

  /// 96 bits: nobody finds another person's id with the same tag.
  private static func tag(_ person: String) -> String {
    digest(["person", person]).prefix(16) + "-"
  }

  /// Lengths keep different parts from forming the same text.
  private static func digest(_ parts: [String]) -> String {
    var hash = SHA256()
    for part in parts {
      hash.update(data: Data("\(part.utf8.count):".utf8))
      hash.update(data: Data(part.utf8))
    }
    return base64URLEncoded(hash.finalize())
  }
}
