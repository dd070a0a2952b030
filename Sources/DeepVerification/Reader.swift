import Events

/// A consumer group, and what it reads.
enum Reader: String, CaseIterable {
  case fanout, notification, alarm

  /// What the group's tables follow from. Notification changes do not count: what they should say is
  /// computed.
  var topics: [Topic] {
    switch self {
    case .fanout: [.posts, .follows, .messages]
    case .notification: [.likes, .comments, .follows, .messages, .posts, .alarmActions]
    case .alarm: [.profiles]
    }
  }

  func consumerGroup(prefix: String) -> String { prefix + rawValue }

  /// The ids by which the rows that follow from an event are cut into slices: people, and the posts
  /// that are liked and commented on.
  func slicedBy(_ payload: Payload) -> [String] {
    switch (self, payload) {
    case (.fanout, .followCreated(let data)): [data.followee, data.follower]
    case (.fanout, .followRemoved(let data)): [data.followee, data.follower]
    case (.fanout, .messageSent(let data)): [data.sender, data.receiver]
    case (.notification, .likeCreated(let data)): [data.postOwner, data.post]
    case (.notification, .likeRemoved(let data)): [data.postOwner, data.post]
    case (.notification, .commentCreated(let data)): [data.postOwner, data.post] + data.mentions
    case (.notification, .commentRemoved(let data)): [data.postOwner, data.post]
    case (.notification, .postPublished(let data)): [data.author, data.post] + data.mentions
    case (.notification, .postDeleted(let data)): [data.author, data.post]
    default: [payload.key]
    }
  }

  /// Of events whose fact may have other events that name other people: what tells the fact. All of
  /// them are needed to know which one holds, whomever it names.
  func fact(_ payload: Payload) -> BytewiseString? {
    switch (self, payload) {
    case (.fanout, .postPublished(let data)): BytewiseString("post:" + data.post)
    case (.fanout, .postDeleted(let data)): BytewiseString("post:" + data.post)
    case (.fanout, .messageSent(let data)): BytewiseString("message:" + data.message)
    case (.notification, .likeCreated(let data)): like(data.post, data.actor)
    case (.notification, .likeRemoved(let data)): like(data.post, data.actor)
    case (.notification, .messageSent(let data)): BytewiseString("message:" + data.message)
    case (.notification, .postPublished(let data)): BytewiseString("post:" + data.post)
    case (.notification, .postDeleted(let data)): BytewiseString("post:" + data.post)
    case (.notification, .commentCreated(let data)): BytewiseString("comment:" + data.comment)
    case (.notification, .commentRemoved(let data)): BytewiseString("comment:" + data.comment)
    default: nil
    }
  }
}

/// Ids have no control characters.
private func like(_ post: String, _ actor: String) -> BytewiseString {
  BytewiseString("like:\(post)\u{0}\(actor)")
}
