import Events
import Kinds

/// One reason for a notification: a like, comment, follow, message or mention, or an alarm that was
/// raised.
struct Contribution {
  struct Key: Hashable {
    var recipient: BytewiseString
    /// The number of the kind's code.
    var type: Int
    var subject: BytewiseString
    var source: BytewiseString
  }

  var key: Key
  /// Nil if nobody acted.
  var actor: String?
  var post: String?
  var comment: String?
  var text = ""
  /// Of all kinds except those of `AlarmType`.
  var raised: Raised?

  struct Raised {
    var isGrouped: Bool
    /// Nil after a withdrawal.
    var imageURL: String?
    var arguments: [String: String]?
  }

  /// The contributions of a single event. Removals contribute nothing; neither do actions on the
  /// actor's own content.
  static func all(of event: Event, _ kinds: AlarmKinds) -> [Contribution] {
    let contributions: [Contribution]
    switch event.payload {
    case .likeCreated(let data):
      contributions = [
        make(data.postOwner, .like, data.post, source: data.actor, by: data.actor, data.post)
      ]
    case .followCreated(let data):
      contributions = [make(data.followee, .follow, "", source: data.follower, by: data.follower)]
    case .messageSent(let data):
      contributions = [
        make(
          data.receiver, .message, data.sender, source: data.message, by: data.sender,
          text: data.text)
      ]
    case .commentCreated(let data):
      let comment = make(
        data.postOwner, .comment, data.comment, source: data.comment, by: data.actor, data.post,
        data.comment, text: data.text)
      // The owner is notified of the comment anyway.
      let others = data.mentions.filter { !$0.hasSameBytes(as: data.postOwner) }
      let subject = "comment:" + data.comment
      contributions =
        [comment]
        + others.map {
          make(
            $0, .mention, subject, source: subject, by: data.actor, data.post, data.comment,
            text: data.text)
        }
    case .postPublished(let data):
      let subject = "post:" + data.post
      let text = data.title.isEmpty ? data.caption : data.title
      contributions = data.mentions.map {
        make($0, .mention, subject, source: subject, by: data.author, data.post, text: text)
      }
    case .alarmRaised: contributions = raised(event, kinds).map { [$0] } ?? []
    default: contributions = []
    }
    return contributions.filter { !($0.actor ?? "").hasSameBytes(as: $0.key.recipient.string) }
  }

  /// The contribution that `alarm.raised` raises, or what is left of it after `alarm.withdrawn`.
  static func raised(_ event: Event, _ kinds: AlarmKinds) -> Contribution? {
    func key(_ kind: AlarmKind, _ recipient: String, _ subject: String, _ source: String) -> Key {
      Key(
        recipient: .init(recipient), type: kind.code.number, subject: .init(subject),
        source: .init(source))
    }
    switch event.payload {
    case .alarmRaised(let data):
      return kinds.kind(data.kind).map { kind in
        Contribution(
          key: key(kind, data.recipient, data.subject, data.source),
          actor: data.actor.isEmpty ? nil : data.actor, text: data.headText,
          raised: Raised(
            isGrouped: kind.isGrouped, imageURL: data.imageURL,
            arguments: data.arguments.filter { !$0.value.isEmpty }))
      }
    case .alarmWithdrawn(let data):
      return kinds.kind(data.kind).map { kind in
        Contribution(
          key: key(kind, data.recipient, data.subject, data.source), actor: nil,
          raised: Raised(isGrouped: kind.isGrouped))
      }
    default: return nil
    }
  }

  /// Whether a notification combines the contributions of a UTC day.
  var isGrouped: Bool {
    raised?.isGrouped ?? [AlarmType.like, .follow, .message].map(\.code).contains(key.type)
  }

  /// The id of its notification.
  ///
  /// - Parameter at: the contribution's time.
  func notification(at time: EventTime) -> String {
    NotificationID.uuid(
      recipient: key.recipient.string, kind: key.type, subject: key.subject.string,
      day: isGrouped ? time.day : "",
      source: raised != nil && !isGrouped ? key.source.string : nil)
  }

  private static func make(
    _ recipient: String, _ type: AlarmType, _ subject: String, source: String, by actor: String,
    _ post: String? = nil, _ comment: String? = nil, text: String = ""
  ) -> Contribution {
    Contribution(
      key: Key(
        recipient: .init(recipient), type: type.code, subject: .init(subject),
        source: .init(source)),
      actor: actor, post: post, comment: comment, text: text)
  }
}

extension Contribution {
  /// A post of an author to whom the recipient is subscribed.
  init(_ post: PostPublished, to subscriber: BytewiseString) {
    key = Key(
      recipient: subscriber, type: AlarmCode.authorPost.number, subject: .init(post.post),
      source: .init(post.post))
    (actor, self.post) = (post.author, post.post)
    text = post.title.isEmpty ? post.caption : post.title
    raised = Raised(isGrouped: false)
  }
}
