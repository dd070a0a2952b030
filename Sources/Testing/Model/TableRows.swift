public import Events

/// The times up to which a user read and deleted a notification, or everything.
public struct ModelMark: Sendable {
  public var user: String
  /// Nil: everything.
  public var notification: String?
  public var readAt: EventTime?
  public var deletedAt: EventTime?
  public var seenAt: EventTime?
}

/// A muting or an unmuting.
public struct ModelMute: Sendable {
  public var recipient: String
  /// The number of the kind's code.
  public var type: Int
  public var version: Version
  public var isMuted: Bool
}

/// The facts about a post that notifications use; after a deletion all texts are empty.
public struct ModelPostFact: Sendable {
  public var id: String
  public var author: String
  public var headText = ""
  public var imageURL = ""
  public var mentions: [String] = []
  public var isDeleted: Bool
  public var firstAt: EventTime?
  public var version: Version
}

/// A contribution to a notification, active or withdrawn.
public struct ModelContribution: Sendable {
  public var recipient: String
  /// The number of the kind's code.
  public var type: Int
  public var subject: String
  public var source: String
  /// Nil if nobody acted, and for alarms that were raised and withdrawn.
  public var actor: String?
  public var isActive: Bool
  /// For active contributions: whether the recipient had muted the type at its time.
  public var isMuted = false
  /// Whether a deletion mark of the recipient covers its time.
  public var isCovered = false
  /// Nil while only withdrawals are known.
  public var firstAt: EventTime?
  public var notification: String?
  public var post: String?
  public var comment: String?
  /// At most 256 code points.
  public var headText: String
  /// Of alarms that were raised.
  public var imageURL: String?
  public var arguments: [String: String]?
  public var isGrouped: Bool
  public var version: Version
}
