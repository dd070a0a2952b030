public import Events

// Feeds, profile numbers and conversations. Pages are complete and newest first, by (time, id).
extension Model {
  /// All people whom any event names, in byte order.
  public var people: [String] {
    var people = Set<BytewiseString>()
    for key in follows.keys { people.formUnion(key) }
    for post in allPosts { people.insert(.init(post.author)) }
    for message in allMessages {
      people.formUnion([.init(message.sender), .init(message.receiver)])
    }
    for like in allLikes { people.formUnion([.init(like.actor), .init(like.postOwner)]) }
    for comment in allComments {
      people.formUnion([.init(comment.actor), .init(comment.postOwner)])
    }
    for key in Array(profiles.keys) + profileEdits.keys + marks.keys + mutes.keys {
      people.insert(key[0])
    }
    for key in reads.keys { people.formUnion(key) }
    for fact in sources.values { people.formUnion(fact.firstAt.keys.map(\.recipient)) }
    // Such as subscribers of an author, who may have done nothing else.
    for notification in notifications { people.insert(.init(notification.recipient)) }
    return people.sorted().map(\.string)
  }

  /// Includes tombstones; sorted by followee and follower.
  public var allFollows: [ModelFollow] {
    follows.map { key, fact in
      ModelFollow(
        followee: key[0].string, follower: key[1].string, isActive: fact.newest.creates,
        version: fact.newest.version)
    }.sorted { ($0.followee, $0.follower) <~ ($1.followee, $1.follower) }
  }

  /// Includes deleted posts; sorted by id.
  public var allPosts: [ModelPost] {
    posts.map { key, fact in
      let author = fact.newest.key
      guard case .postPublished(let data) = fact.newest.payload else {
        return ModelPost(
          id: key[0].string, author: author, title: "", caption: "", imageURL: "",
          firstAt: fact.createdAt, isDeleted: true, version: fact.newest.version)
      }
      return ModelPost(
        id: data.post, author: author, title: data.title, caption: data.caption,
        imageURL: data.imageURL, firstAt: fact.createdAt, isDeleted: false,
        version: fact.newest.version)
    }.sorted { ($0.id, "") <~ ($1.id, "") }
  }

  /// All undeleted posts.
  public var home: [ModelPost] {
    allPosts.filter { !$0.isDeleted }.sorted {
      newest(($0.publishedAt, $0.id), ($1.publishedAt, $1.id))
    }
  }

  /// The undeleted posts of everybody whom the viewer can see.
  public func home(for viewer: String) -> [ModelPost] {
    home.filter { !isBlocked(viewer, $0.author) }
  }

  /// The undeleted posts of the authors that the user follows and can see.
  public func feed(of user: String) -> [ModelPost] {
    let user = BytewiseString(user)
    var followed = Set<BytewiseString>()
    for (key, fact) in follows where key[1] == user && fact.newest.creates {
      followed.insert(key[0])
    }
    return home(for: user.string).filter { followed.contains(.init($0.author)) }
  }

  /// The feeds of all users, computed faster than one by one.
  public var feeds: [BytewiseString: [ModelPost]] {
    var followers: [BytewiseString: [BytewiseString]] = [:]
    for (key, fact) in follows where fact.newest.creates {
      followers[key[0], default: []].append(key[1])
    }
    var feeds: [BytewiseString: [ModelPost]] = [:]
    for post in home {
      for follower in followers[.init(post.author)] ?? []
      where !isBlocked(follower.string, post.author) {
        feeds[follower, default: []].append(post)
      }
    }
    return feeds
  }

  public typealias ProfileStats = (posts: Int, followers: Int, following: Int)

  /// The numbers of every user who has any.
  public var profileStats: [BytewiseString: ProfileStats] {
    var stats: [BytewiseString: ProfileStats] = [:]
    for post in home { stats[.init(post.author), default: (0, 0, 0)].posts += 1 }
    for (key, fact) in follows where fact.newest.creates {
      stats[key[0], default: (0, 0, 0)].followers += 1
      stats[key[1], default: (0, 0, 0)].following += 1
    }
    return stats
  }

  public func profileStats(of user: String) -> ProfileStats {
    profileStats[.init(user)] ?? (0, 0, 0)
  }

  /// Sorted by id.
  public var allMessages: [ModelMessage] {
    messages.values.compactMap { fact in
      guard case .messageSent(let data) = fact.newest.payload else { return nil }
      return ModelMessage(
        id: data.message, sender: data.sender, receiver: data.receiver, text: data.text,
        sentAt: fact.newest.time, version: fact.newest.version)
    }.sorted { ($0.id, "") <~ ($1.id, "") }
  }

  /// The messages between two people who can see each other, or of one to themselves.
  public func messages(between one: String, and other: String) -> [ModelMessage] {
    guard !isBlocked(one, other) else { return [] }
    return allMessages.filter {
      $0.sender.hasSameBytes(as: one) && $0.receiver.hasSameBytes(as: other)
        || $0.sender.hasSameBytes(as: other) && $0.receiver.hasSameBytes(as: one)
    }.sorted { newest(($0.sentAt, $0.id), ($1.sentAt, $1.id)) }
  }

  /// All conversations of people who can see each other, with the newest message of each.
  public var conversations: [BytewiseString: [ModelConversation]] {
    var last: [Key: ModelMessage] = [:]
    for message in allMessages {
      let pair = [BytewiseString(message.sender), BytewiseString(message.receiver)]
      for key in Set([pair, pair.reversed()]) {
        let known = last[key] ?? message
        let isNewer = newest((message.sentAt, message.id), (known.sentAt, known.id))
        last[key] = isNewer ? message : known
      }
    }
    var lists: [BytewiseString: [ModelConversation]] = [:]
    var unread: [Key: Int] = [:]
    for message in allMessages where !message.sender.hasSameBytes(as: message.receiver) {
      if !isRead(message) {
        unread[[.init(message.receiver), .init(message.sender)], default: 0] += 1
      }
    }
    for (key, message) in last where !isBlocked(key[0].string, key[1].string) {
      lists[key[0], default: []].append(
        ModelConversation(peer: key[1].string, last: message, unread: min(unread[key] ?? 0, 100)))
    }
    return lists.mapValues { list in
      list.sorted { newest(($0.last.sentAt, $0.last.id), ($1.last.sentAt, $1.last.id)) }
    }
  }

  public func conversations(of user: String) -> [ModelConversation] {
    conversations[.init(user)] ?? []
  }

  /// Whether the receiver has read the message. One's messages to oneself are read.
  public func isRead(_ message: ModelMessage) -> Bool {
    let key = [BytewiseString(message.receiver), BytewiseString(message.sender)]
    return key[0] == key[1] || reads[key].map { message.sentAt <= $0 } ?? false
  }

  /// The times up to which people have read what others sent; sorted.
  public var allReads: [(user: String, peer: String, at: EventTime)] {
    reads.map { ($0[0].string, $0[1].string, $1) }.sorted {
      ($0.user, $0.peer) <~ ($1.user, $1.peer)
    }
  }

  /// The edits that are the newest of their field, also those that a newer profile overrules.
  public var allProfileEdits: [(user: String, field: String, value: String, version: Version)] {
    profileEdits.map { ($0[0].string, $0[1].string, $1.value, $1.version) }
      .sorted { ($0.user, $0.field) <~ ($1.user, $1.field) }
  }

  /// Sorted by user.
  public var allProfiles: [ModelProfile] {
    let users = Set(profiles.keys.map { $0[0] }).union(profileEdits.keys.map { $0[0] })
    return users.sorted().compactMap { user in
      profile(of: user.string).map { data in
        ModelProfile(
          user: data.user, nickname: data.nickname, locale: data.locale, imageURL: data.imageURL,
          name: data.name, major: data.major, bio: data.bio,
          version: profiles[[user]]?.newest.version)
      }
    }
  }

  /// The profile with the edits that are newer than it; nil if neither is known.
  func profile(of user: String) -> ProfileChanged? {
    let user = BytewiseString(user)
    let newest = profiles[[user]]?.newest
    var profile = ProfileChanged.with { $0.user = user.string }
    if case .profileChanged(let data) = newest?.payload { profile = data }
    let edits = ProfileField.allCases.compactMap { field in
      profileEdits[[user, .init(field.rawValue)]].map { (field: field, edit: $0) }
    }
    for (field, edit) in edits where newest.map({ edit.version > $0.version }) ?? true {
      profile[keyPath: field.changed] = edit.value
    }
    return newest == nil && edits.isEmpty ? nil : profile
  }
}

infix operator <~ : ComparisonPrecedence

/// Compares pairs in byte order.
func <~ (left: (String, String), right: (String, String)) -> Bool {
  (BytewiseString(left.0), BytewiseString(left.1))
    < (BytewiseString(right.0), BytewiseString(right.1))
}

/// Whether the first is newer, by time and then by id.
func newest(_ left: (EventTime, String), _ right: (EventTime, String)) -> Bool {
  left.0 != right.0 ? left.0 > right.0 : BytewiseString(left.1) > BytewiseString(right.1)
}
