public import Events

/// Up to when somebody read and deleted a notification, or everything.
public struct ModelMark: Sendable {
  public var user: String
  /// Nil: everything.
  public var notification: String?
  public var readAt: EventTime?
  public var deletedAt: EventTime?
}

/// A muting or an unmuting.
public struct ModelMute: Sendable {
  public var recipient: String
  public var type: AlarmType
  public var version: Version
  public var isMuted: Bool
}

/// What notifications know of a post; after a deletion all texts are empty.
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

/// One reason for a notification, standing or withdrawn.
public struct ModelContribution: Sendable {
  public var recipient: String
  public var type: AlarmType
  public var subject: String
  public var source: String
  public var actor: String
  public var isActive: Bool
  /// Of active ones: whether the recipient had muted the type when it happened.
  public var isMuted = false
  /// Whether the recipient deleted what was there up to then.
  public var isCovered = false
  /// Nil while only withdrawals are known.
  public var firstAt: EventTime?
  public var notification: String?
  public var post: String?
  public var comment: String?
  /// At most 256 code points.
  public var headText: String
  public var version: Version
}
