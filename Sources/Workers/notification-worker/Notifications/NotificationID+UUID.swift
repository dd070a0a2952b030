import Events

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The id of a notification as stored in the tables; see `Events.NotificationID` for its
/// derivation.
///
/// - Parameters:
///   - kind: the number of the kind's code.
///   - subject: like: the post. Comment: the comment. Follow: empty. Message: the sender.
///     Mention: `post:` or `comment:` and the id of the text that mentions the recipient.
///   - bucket: the UTC day of a kind that is grouped, such as `2012-09-14`; empty for others.
///   - source: the contribution, for kinds that are raised and not grouped.
public func notificationID(
  recipient: String, kind: Int, subject: String, bucket: String, source: String? = nil
) -> UUID {
  let bytes = NotificationID.bytes(
    recipient: recipient, kind: kind, subject: subject, day: bucket, source: source)
  return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
}
