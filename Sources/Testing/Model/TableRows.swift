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

/// A silence of one subject or of one person, or its end.
public struct ModelSilence: Sendable {
  public var recipient: String
  public var scope: String
  /// The number of the kind's code; -1 of the scope `actor`.
  public var type: Int
  /// The subject or the person.
  public var value: String
  public var version: Version
  public var isOff: Bool
  public var until: EventTime?
}

/// A block, or one that was taken back.
public struct ModelBlock: Sendable {
  public var blocker: String
  public var blocked: String
  public var isActive: Bool
  public var version: Version
}

/// A subscription to an author, or its end.
public struct ModelSubscription: Sendable {
  public var author: String
  public var subscriber: String
  public var version: Version
  public var isSubscribed: Bool
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
  /// Of alarms that were raised: nil if they were caused at the time of the event.
  public var causedAt: EventTime?
}
