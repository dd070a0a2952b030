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

  /// Whether the person's notifications of the kind are muted at that time: the last toggle before
  /// it decides.
  func isMuted(_ person: BytewiseString, _ type: Int, at time: EventTime) -> Bool {
    let toggles = mutes[[person, .init("\(type)")]] ?? [:]
    return toggles.filter { $0.key.time < time }.max { $0.key < $1.key }?.value ?? false
  }

  /// Whether the recipient does not hear of the contribution: its kind, its subject or its actor is
  /// muted at that time, or one of the two people has blocked the other.
  func isMuted(_ key: Contribution.Key, actor: String?, at time: EventTime) -> Bool {
    func isSilenced(_ key: Key) -> Bool {
      let last = (silences[key] ?? [:]).filter { $0.key.time < time }.max { $0.key < $1.key }?.value
      guard let last, last.isOff else { return false }
      return last.until.map { time < $0 } ?? true
    }
    return isMuted(key.recipient, key.type, at: time)
      || isSilenced([key.recipient, .init("\(key.type)"), key.subject])
      || actor.map { isSilenced([key.recipient, .init($0)]) } ?? false
      || actor.map { isBlocked(key.recipient.string, $0) } ?? false
  }

  /// Whether one of the two people has blocked the other. Nobody blocks oneself.
  public func isBlocked(_ one: String, _ other: String) -> Bool {
    guard !blocks.isEmpty, !one.hasSameBytes(as: other) else { return false }
    let people = [BytewiseString(one), BytewiseString(other)]
    return [people, people.reversed()].contains { blocks[$0]?.newest.creates ?? false }
  }

  /// The contributions of posts to the notifications of their authors' subscribers. The last toggle
  /// at or before a post's first time decides.
  var subscribersContributions: [(at: EventTime, Contribution)] {
    var subscribers: [BytewiseString: [(BytewiseString, [Version: Bool])]] = [:]
    for (key, toggles) in subscriptions {
      subscribers[key[0], default: []].append((key[1], toggles))
    }
    return posts.values.flatMap { fact -> [(at: EventTime, Contribution)] in
      guard case .postPublished(let post) = fact.newest.payload, let at = fact.createdAt else {
        return []
      }
      return (subscribers[.init(post.author)] ?? []).compactMap { subscriber, toggles in
        let last = toggles.filter { $0.key.time <= at }.max { $0.key < $1.key }
        guard last?.value ?? false, !post.author.hasSameBytes(as: subscriber.string) else {
          return nil
        }
        return (at, Contribution(post, to: subscriber))
      }
    }
  }

  /// All visible notifications, newest first by the time when they were raised.
  public var notifications: [ModelNotification] {
    var groups: [String: [(at: EventTime, Contribution)]] = [:]
    for fact in sources.values {
      // The newest event decides the contributions, the earliest one their time.
      for contribution in Contribution.all(of: fact.newest, kinds) {
        let key = contribution.key
        guard let at = fact.firstAt[key], !isMuted(key, actor: contribution.actor, at: at) else {
          continue
        }
        groups[contribution.notification(at: at), default: []].append((at, contribution))
      }
    }
    for (at, contribution) in subscribersContributions {
      let key = contribution.key
      guard !isMuted(key, actor: contribution.actor, at: at) else { continue }
      groups[contribution.notification(at: at), default: []].append((at, contribution))
    }
    return groups.compactMap { notification($0, $1) }
      .sorted { newest(($0.raisedAt, $0.id), ($1.raisedAt, $1.id)) }
  }

  /// - Returns: nil if all contributions were deleted.
  private func notification(
    _ id: String, _ contributions: [(at: EventTime, Contribution)]
  ) -> ModelNotification? {
    let key = contributions[0].1.key
    let all = marks[[key.recipient]] ?? Marks()
    let own = marks[[key.recipient, .init(id)]] ?? Marks()
    let shown = contributions.filter { $0.at > max(all.deleted, own.deleted) }.sorted {
      newest(($0.at, $0.1.key.source.string), ($1.at, $1.1.key.source.string))
    }
    guard let first = shown.first, let last = shown.last else { return nil }
    let people = people(shown)
    let conversation =
      key.type == AlarmType.message.code ? reads[[key.recipient, key.subject]] : nil
    let isUnread = first.at > max(all.read, own.read, conversation ?? own.read)
    return ModelNotification(
      id: id, recipient: key.recipient.string, type: key.type, subject: key.subject.string,
      bucket: first.1.isGrouped ? first.at.day : nil, actor: first.1.actor,
      secondActor: people.dropFirst().first?.id, actorCount: people.count,
      contributionCount: shown.count,
      post: first.1.post, comment: first.1.comment, headText: head(first.1.text),
      raisedAt: first.at, oldestAt: last.at, isUnread: isUnread,
      source: first.1.raised != nil ? first.1.key.source.string : nil,
      imageURL: first.1.raised?.imageURL, arguments: first.1.raised?.arguments,
      isUnseen: isUnread && first.at > all.seen, people: people)
  }

  /// The people who contributed, from contributions newest first. People are counted among the
  /// newest 1000 contributions, unless every contribution is another person.
  private func people(
    _ shown: [(at: EventTime, Contribution)]
  ) -> [(id: String, at: EventTime)] {
    guard shown[0].1.actor != nil else { return [] }
    let areSources = shown.allSatisfy {
      $0.1.actor?.hasSameBytes(as: $0.1.key.source.string) ?? false
    }
    var seen = Set<BytewiseString>()
    return shown.prefix(areSources ? shown.count : 1000).compactMap { at, contribution in
      guard let actor = contribution.actor, seen.insert(.init(actor)).inserted else { return nil }
      return (actor, at)
    }
  }

  public func notifications(of user: String) -> [ModelNotification] {
    notifications.filter { $0.recipient.hasSameBytes(as: user) }
  }

  public func unreadCount(of user: String) -> Int {
    notifications(of: user).count { $0.isUnread }
  }
}
