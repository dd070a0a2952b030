import Crypto
import Foundation

/// Generates ids so that no client can choose the id of another person's event, post, comment or
/// message.
///
/// A fact is defined by the newest event with its id: a client that could choose any id could
/// overwrite what others wrote.
enum OwnID {
  /// An event's id. Equal only for the same person, action, target and key: another target is another
  /// fact, whose event must not replace the first one.
  ///
  /// - Parameters:
  ///   - target: the values of the path's parameters, in the order of their names.
  ///   - key: the request's `Idempotency-Key`; nil for a unique id.
  static func event(
    _ person: String, _ action: String, target: [String], key: String?
  ) -> String {
    digest([person, action] + target + [key ?? UUID().uuidString])
  }

  /// The id of the post, comment or message that the event creates: the person's tag, then a digest
  /// of the event's id.
  static func new(_ person: String, event: String) -> String {
    tag(person) + digest(["new", event]).prefix(22)
  }

  /// Whether the gateway generated this id for this person.
  static func isOwn(_ id: String, of person: String) -> Bool {
    id.utf8.starts(with: tag(person).utf8)
  }

  /// 96 bits of a hash: too many for finding a person id with the same tag.
  private static func tag(_ person: String) -> String {
    digest(["person", person]).prefix(16) + "-"
  }

  /// The length prefixes prevent different lists of parts from giving the same input.
  private static func digest(_ parts: [String]) -> String {
    var hash = SHA256()
    for part in parts {
      hash.update(data: Data("\(part.utf8.count):".utf8))
      hash.update(data: Data(part.utf8))
    }
    return base64URLEncoded(hash.finalize())
  }
}
