public import Events

/// A row of a table or page as text, to compare byte by byte with what the database returns
/// (`String`'s own `==` treats different normal forms as equal).
public protocol ModelRow: Sendable, Equatable, CustomStringConvertible {
  /// Times as RFC 3339, booleans as `true` and `false`, NULL as nil.
  var fields: [String?] { get }
}

extension ModelRow {
  public static func == (left: Self, right: Self) -> Bool {
    left.fields.map { $0.map { BytewiseString($0) } }
      == right.fields.map { $0.map { BytewiseString($0) } }
  }

  public var description: String { fields.map { $0 ?? "NULL" }.joined(separator: " | ") }
}

/// A tombstone if `isActive` is false.
public struct ModelFollow: ModelRow {
  public var followee: String
  public var follower: String
  public var isActive: Bool
  public var version: Version

  public var fields: [String?] { [followee, follower, String(isActive)] }
}

/// The state after the newest event, in the place of the earliest publication; a deleted post keeps
/// only its id, author and place.
public struct ModelPost: ModelRow {
  public var id: String
  public var author: String
  public var title: String
  public var caption: String
  public var imageURL: String
  /// The time of the earliest publication; nil while only deletions are known.
  public var firstAt: EventTime?
  public var isDeleted: Bool
  public var version: Version

  public var publishedAt: EventTime { firstAt ?? version.time }

  public var fields: [String?] {
    [id, author, title, caption, imageURL, firstAt?.rfc3339, String(isDeleted)]
  }
}

public struct ModelMessage: ModelRow {
  public var id: String
  public var sender: String
  public var receiver: String
  public var text: String
  public var sentAt: EventTime
  public var version: Version

  public var fields: [String?] { [id, sender, receiver, text, sentAt.rfc3339] }
}

public struct ModelConversation: ModelRow {
  public var peer: String
  public var last: ModelMessage
  /// The peer's messages that the owner has not read, at most 100.
  public var unread: Int

  public var fields: [String?] { [peer] + last.fields + ["\(unread)"] }
}

public struct ModelLike: ModelRow {
  public var post: String
  public var actor: String
  public var postOwner: String
  public var isActive: Bool
  /// The time of the earliest like, even a removed one; nil while only removals are known.
  public var firstAt: EventTime?
  public var version: Version

  public var fields: [String?] { [post, actor, postOwner, String(isActive), firstAt?.rfc3339] }
}

/// After a removal, text and mentions are empty.
public struct ModelComment: ModelRow {
  public var id: String
  public var post: String
  public var postOwner: String
  public var actor: String
  public var text: String
  public var mentions: [String]
  public var isActive: Bool
  public var firstAt: EventTime?
  public var version: Version

  public var fields: [String?] {
    [id, post, postOwner, actor, text, String(isActive), firstAt?.rfc3339] + mentions
  }
}

public struct ModelProfile: ModelRow {
  public var user: String
  public var nickname: String
  public var locale: String
  public var imageURL: String
  public var name: String
  public var major: String
  public var bio: String
  /// Of the newest `profile.changed`; nil if only edits are known.
  public var version: Version?

  public var fields: [String?] { [user, nickname, locale, imageURL, name, major, bio] }
}

/// A notification that its recipient can see.
public struct ModelNotification: ModelRow {
  public var id: String
  public var recipient: String
  /// The number of the kind's code.
  public var type: Int
  public var subject: String
  /// The UTC day; nil for kinds that are not grouped.
  public var bucket: String?
  /// Nil if nobody acted.
  public var actor: String?
  public var secondActor: String?
  public var actorCount: Int
  public var contributionCount: Int
  public var post: String?
  public var comment: String?
  /// At most 256 code points.
  public var headText: String
  public var raisedAt: EventTime
  public var oldestAt: EventTime
  public var isUnread: Bool
  /// Of kinds raised by `alarm.raised`.
  public var source: String?
  public var imageURL: String?
  public var arguments: [String: String]?
  public var isUnseen: Bool
  /// Everybody who contributed, with their newest contribution, newest first; among the newest 1000
  /// contributions if one person can contribute several times.
  public var people: [(id: String, at: EventTime)] = []

  public var fields: [String?] {
    [
      id, recipient, String(type), subject, bucket, actor, secondActor, String(actorCount),
      String(contributionCount), post, comment, headText, raisedAt.rfc3339, oldestAt.rfc3339,
      String(isUnread), source, imageURL, arguments.map(jsonObject), String(isUnseen),
    ]
  }
}
