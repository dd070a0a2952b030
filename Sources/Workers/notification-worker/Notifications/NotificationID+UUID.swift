public import Events

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The id of a notification as stored in the tables; see `Events.NotificationID` for its
/// derivation.
///
/// - Parameters:
///   - subject: like: the post. Comment: the comment. Follow: empty. Message: the sender.
///     Mention: `post:` or `comment:` and the id of the text that mentions the recipient.
///   - bucket: the UTC day of a like, follow or message, such as `2012-09-14`; empty for comments
///     and mentions.
public func notificationID(
  recipient: String, type: AlarmType, subject: String, bucket: String
) -> UUID {
  let bytes = NotificationID.bytes(
    recipient: recipient, type: type, subject: subject, day: bucket)
  return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
}
