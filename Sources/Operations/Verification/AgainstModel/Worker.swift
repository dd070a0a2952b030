import Events

/// A worker, with the topics that its consumer group reads.
enum Worker: String, CaseIterable {
  case fanout, notification, alarm, reminder

  /// The topics that determine the worker's tables. Excludes notification changes, which the model
  /// computes.
  var topics: [Topic] {
    switch self {
    case .fanout: [.posts, .follows, .messages, .erasures]
    case .notification:
      [
        .likes, .comments, .follows, .messages, .subscriptions, .posts, .alarms, .alarmActions,
        .people, .erasures,
      ]
    case .alarm: [.profiles, .erasures]
    case .reminder: [.reminders, .profiles, .erasures]
    }
  }

  func consumerGroup(prefix: String) -> String { prefix + rawValue }

  /// The ids that assign the rows affected by an event to slices: people, and posts with likes or
  /// comments.
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
    case (.notification, .personBlocked(let data)): [data.user, data.person]
    case (.notification, .personUnblocked(let data)): [data.user, data.person]
    case (.notification, .authorSubscribed(let data)): [data.subscriber]
    case (.notification, .authorUnsubscribed(let data)): [data.subscriber]
    default: [payload.key]
    }
  }

  /// The fact that the event is about, if other events about it may name other people. All events
  /// about a fact are needed to determine the newest, whomever they name.
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

/// Ids contain no control characters, so U+0000 is a safe separator.
private func like(_ post: String, _ actor: String) -> BytewiseString {
  BytewiseString("like:\(post)\u{0}\(actor)")
}
