public import Events

// Likes, comments, and the notifications that derive from them.
extension Model {
  /// Includes tombstones; sorted by post and actor.
  public var allLikes: [ModelLike] {
    likes.map { key, fact in
      ModelLike(
        post: key[0].string, actor: key[1].string, postOwner: fact.newest.key,
        isActive: fact.newest.creates, firstAt: fact.createdAt, version: fact.newest.version)
    }.sorted { ($0.post, $0.actor) <~ ($1.post, $1.actor) }
  }

  /// Includes tombstones; sorted by id.
  public var allComments: [ModelComment] {
    comments.values.compactMap { fact -> ModelComment? in
      switch fact.newest.payload {
      case .commentCreated(let data):
        ModelComment(
          id: data.comment, post: data.post, postOwner: data.postOwner, actor: data.actor,
          text: data.text, mentions: data.mentions, isActive: true, firstAt: fact.createdAt,
          version: fact.newest.version)
      case .commentRemoved(let data):
        ModelComment(
          id: data.comment, post: data.post, postOwner: data.postOwner, actor: data.actor,
          text: "", mentions: [], isActive: false, firstAt: fact.createdAt,
          version: fact.newest.version)
      default: nil
      }
    }.sorted { ($0.id, "") <~ ($1.id, "") }
  }

  /// The active comments on a post, newest first by the time of creation.
  public func comments(on post: String) -> [ModelComment] {
    let epoch = EventTime(microseconds: .min)
    return allComments.filter { $0.isActive && $0.post.hasSameBytes(as: post) }
      .sorted { newest(($0.firstAt ?? epoch, $0.id), ($1.firstAt ?? epoch, $1.id)) }
  }

  /// The number of likes and comments of each post that has any.
  public var postStats: [BytewiseString: (likes: Int, comments: Int)] {
    var stats: [BytewiseString: (likes: Int, comments: Int)] = [:]
    for like in allLikes where like.isActive { stats[.init(like.post), default: (0, 0)].likes += 1 }
    for comment in allComments where comment.isActive {
      stats[.init(comment.post), default: (0, 0)].comments += 1
    }
    return stats
  }

  /// Whether the person's notifications of the type are muted at that time: the last toggle before
  /// it decides.
  func isMuted(_ person: BytewiseString, _ type: AlarmType, at time: EventTime) -> Bool {
    let toggles = mutes[[person, .init(type.rawValue)]] ?? [:]
    return toggles.filter { $0.key.time < time }.max { $0.key < $1.key }?.value ?? false
  }

  private struct Group: Hashable {
    var recipient: BytewiseString
    var type: AlarmType
    var subject: BytewiseString
    var day: String
  }

  /// All visible notifications, newest first by the time when they were raised.
  public var notifications: [ModelNotification] {
    var groups: [Group: [(at: EventTime, Contribution)]] = [:]
    for fact in sources.values {
      // The newest event decides the contributions, the earliest one their time.
      for contribution in Contribution.all(of: fact.newest) {
        let key = contribution.key
        guard let at = fact.firstAt[key], !isMuted(key.recipient, key.type, at: at) else {
          continue
        }
        let day = [.like, .follow, .message].contains(key.type) ? at.day : ""
        let group = Group(recipient: key.recipient, type: key.type, subject: key.subject, day: day)
        groups[group, default: []].append((at, contribution))
      }
    }
    return groups.compactMap { notification($0, $1) }
      .sorted { newest(($0.raisedAt, $0.id), ($1.raisedAt, $1.id)) }
  }

  /// - Returns: nil if all contributions were deleted.
  private func notification(
    _ group: Group, _ contributions: [(at: EventTime, Contribution)]
  ) -> ModelNotification? {
    let id = NotificationID.uuid(
      recipient: group.recipient.string, type: group.type, subject: group.subject.string,
      day: group.day)
    let all = marks[[group.recipient]] ?? Marks()
    let own = marks[[group.recipient, .init(id)]] ?? Marks()
    let shown = contributions.filter { $0.at > max(all.deleted, own.deleted) }.sorted {
      newest(($0.at, $0.1.key.source.string), ($1.at, $1.1.key.source.string))
    }
    guard let first = shown.first, let last = shown.last else { return nil }
    let actors = Set(shown.map { BytewiseString($0.1.actor) })
    return ModelNotification(
      id: id, recipient: group.recipient.string, type: group.type, subject: group.subject.string,
      bucket: group.day.isEmpty ? nil : group.day, actor: first.1.actor,
      secondActor: shown.first { !$0.1.actor.hasSameBytes(as: first.1.actor) }?.1.actor,
      actorCount: actors.count, contributionCount: shown.count, post: first.1.post,
      comment: first.1.comment, headText: String(first.1.text.unicodeScalars.prefix(256)),
      raisedAt: first.at, oldestAt: last.at, isUnread: first.at > max(all.read, own.read))
  }

  public func notifications(of user: String) -> [ModelNotification] {
    notifications.filter { $0.recipient.hasSameBytes(as: user) }
  }

  public func unreadCount(of user: String) -> Int {
    notifications(of: user).count { $0.isUnread }
  }
}
