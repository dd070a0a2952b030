import Events

/// One reason for a notification: a like, comment, follow, message or mention.
struct Contribution {
  struct Key: Hashable {
    var recipient: BytewiseString
    var type: AlarmType
    var subject: BytewiseString
    var source: BytewiseString
  }

  var key: Key
  var actor: String
  var post: String?
  var comment: String?
  var text = ""

  /// The contributions of a single event. Removals contribute nothing; neither do actions on the
  /// actor's own content.
  static func all(of event: Event) -> [Contribution] {
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
    default: contributions = []
    }
    return contributions.filter { !$0.actor.hasSameBytes(as: $0.key.recipient.string) }
  }

  private static func make(
    _ recipient: String, _ type: AlarmType, _ subject: String, source: String, by actor: String,
    _ post: String? = nil, _ comment: String? = nil, text: String = ""
  ) -> Contribution {
    Contribution(
      key: Key(
        recipient: .init(recipient), type: type, subject: .init(subject), source: .init(source)),
      actor: actor, post: post, comment: comment, text: text)
  }
}
