public import Events

/// The rows of the page functions, as one viewer sees them. Pages are complete, in the functions' order.
///
/// Computes once what all pages share, of which a comparison needs thousands.
public struct ModelScreens {
  private let model: Model
  private let home: [ModelPost]
  private let postStats: [BytewiseString: (likes: Int, comments: Int)]
  private let profileStats: [BytewiseString: Model.ProfileStats]
  private let likes: [BytewiseString: [ModelLike]]
  private let comments: [BytewiseString: [ModelComment]]
  private let followers: [BytewiseString: [ModelFollow]]
  private let followed: [BytewiseString: [ModelFollow]]
  private let conversations: [BytewiseString: [ModelConversation]]
  /// By the two people, in byte order.
  private let messages: [[BytewiseString]: [ModelMessage]]
  private let notifications: [BytewiseString: [ModelNotification]]
  /// In the order of `search_users`.
  private let profiles: [ModelProfile]
  /// The people who have a profile, or whom a post, a follow, a message or a read mark names. `profile` also
  /// has a row for people whom only overruled events of these name.
  public let named: Set<BytewiseString>

  public init(_ model: Model) {
    self.model = model
    (home, postStats, profileStats) = (model.home, model.postStats, model.profileStats)
    likes = Dictionary(grouping: model.allLikes.filter(\.isActive)) { .init($0.post) }
    comments = Dictionary(grouping: model.allComments.filter(\.isActive)) { .init($0.post) }
    let follows = model.allFollows.filter(\.isActive)
    followers = Dictionary(grouping: follows) { .init($0.followee) }
    followed = Dictionary(grouping: follows) { .init($0.follower) }
    conversations = model.conversations
    let messages = model.allMessages
    self.messages = Dictionary(grouping: messages) {
      [BytewiseString($0.sender), BytewiseString($0.receiver)].sorted()
    }
    profiles = model.allProfiles.sorted { ($0.name, $0.user) <~ ($1.name, $1.user) }
    notifications = Dictionary(grouping: model.notifications) { .init($0.recipient) }
    let authors = model.allPosts.map(\.author)
    let writers = messages.flatMap { [$0.sender, $0.receiver] }
    named = Set((authors + writers + profiles.map(\.user)).map { .init($0) })
      .union((Array(model.follows.keys) + model.reads.keys).joined())
  }

  /// `home_page`, of the posts that are shown and match.
  public func posts(
    for viewer: String, where matches: (ModelPost) -> Bool = { _ in true }
  ) -> [[String?]] {
    home.filter { matches($0) && !model.isBlocked(viewer, $0.author) }
      .map { row(of: $0, for: viewer) }
  }

  /// `feed_page`.
  public func feed(of user: String) -> [[String?]] {
    posts(for: user) { follows(user, $0.author) }
  }

  /// Newest first.
  public func notifications(of user: String) -> [ModelNotification] {
    notifications[.init(user)] ?? []
  }

  /// The nickname, or else the name; empty if neither is known.
  public func shownName(of user: String) -> String {
    guard let profile = model.profile(of: user) else { return "" }
    let isVisible = profile.nickname.unicodeScalars.contains {
      !$0.properties.isWhitespace && !$0.properties.isDefaultIgnorableCodePoint
    }
    return isVisible ? profile.nickname : profile.name
  }

  private func imageURL(of user: String) -> String { model.profile(of: user)?.imageURL ?? "" }

  private func follows(_ follower: String, _ followee: String) -> Bool {
    model.follows[[.init(followee), .init(follower)]]?.newest.creates ?? false
  }

  /// A post's row: `post_row` without the cursor.
  private func row(of post: ModelPost, for viewer: String) -> [String?] {
    let stats = postStats[.init(post.id)] ?? (0, 0)
    let isLiked = model.likes[[.init(post.id), .init(viewer)]]?.newest.creates ?? false
    let edited = post.version.time == post.publishedAt ? nil : post.version.time.rfc3339
    return [
      post.id, post.author, post.title, post.caption, post.imageURL, post.publishedAt.rfc3339,
      shownName(of: post.author), imageURL(of: post.author), "\(stats.likes)", "\(stats.comments)",
      "\(isLiked)", "\(follows(viewer, post.author))", edited,
    ]
  }

  /// The name, the image and whether the viewer follows the person, and the person the viewer.
  private func details(of user: String, for viewer: String) -> [String?] {
    [
      shownName(of: user), imageURL(of: user), "\(follows(viewer, user))",
      "\(follows(user, viewer))",
    ]
  }

  /// Rows of people that the viewer can see.
  private func rows(
    _ people: [(id: String, at: EventTime)], for viewer: String
  ) -> [[String?]] {
    people.filter { !model.isBlocked(viewer, $0.id) }.map {
      [$0.id] + details(of: $0.id, for: viewer) + [$0.at.rfc3339]
    }
  }

  /// `likers_page`.
  public func likers(of post: String, for viewer: String) -> [[String?]] {
    let shown = (likes[.init(post)] ?? [])
      .compactMap { like in like.firstAt.map { (id: like.actor, at: $0) } }
      .sorted { newest(($0.at, $0.id), ($1.at, $1.id)) }
    return rows(shown, for: viewer)
  }

  /// `followers_page`.
  public func followers(of user: String, for viewer: String) -> [[String?]] {
    followRows(of: user, for: viewer, followers, \.follower)
  }

  /// `following_page`.
  public func following(of user: String, for viewer: String) -> [[String?]] {
    followRows(of: user, for: viewer, followed, \.followee)
  }

  private func followRows(
    of user: String, for viewer: String, _ follows: [BytewiseString: [ModelFollow]],
    _ other: KeyPath<ModelFollow, String>
  ) -> [[String?]] {
    guard !model.isBlocked(viewer, user) else { return [] }
    let shown = (follows[.init(user)] ?? []).sorted {
      $0.version != $1.version
        ? $0.version > $1.version
        : BytewiseString($0[keyPath: other]) > BytewiseString($1[keyPath: other])
    }
    return rows(shown.map { ($0[keyPath: other], $0.version.time) }, for: viewer)
  }

  /// `profile` of a person in `named`; nil if the function returns no row.
  public func profileRow(of user: String, for viewer: String) -> [String?]? {
    let blocks = { (one: String, other: String) in
      model.isBlocked(one, other)
        && model.blocks[[.init(one), .init(other)]]?.newest.creates ?? false
    }
    guard !blocks(user, viewer) else { return nil }
    let data = model.profile(of: user) ?? ProfileChanged()
    let stats = profileStats[.init(user)] ?? (0, 0, 0)
    let silences = model.silences[[.init(viewer), .init(user)]] ?? [:]
    let silence = silences.max { $0.key < $1.key }?.value
    return [
      user, shownName(of: user), data.nickname, data.name, data.major, data.bio, data.imageURL,
      user.hasSameBytes(as: viewer) ? data.locale : nil, "\(stats.posts)", "\(stats.followers)",
      "\(stats.following)", "\(follows(viewer, user))", "\(follows(user, viewer))",
      "\(blocks(viewer, user))", "\(silence.map { $0.isOff && $0.until == nil } ?? false)",
    ]
  }

  /// `comment_page` without the cursor.
  public func commentRows(on post: String, for viewer: String) -> [[String?]] {
    let shown = (comments[.init(post)] ?? []).filter { !model.isBlocked(viewer, $0.actor) }
    return shown.sorted {
      newest(($0.firstAt ?? $0.version.time, $0.id), ($1.firstAt ?? $1.version.time, $1.id))
    }.map { comment in
      let first = comment.firstAt ?? comment.version.time
      return [
        comment.id, comment.actor, comment.text, first.rfc3339, shownName(of: comment.actor),
        imageURL(of: comment.actor),
        comment.version.time == first ? nil : comment.version.time.rfc3339,
      ]
    }
  }

  /// `conversation_list` without the cursor.
  public func conversationRows(of user: String) -> [[String?]] {
    (conversations[.init(user)] ?? []).map { conversation in
      let (peer, last) = (conversation.peer, conversation.last)
      return [
        peer, last.id, last.sender, last.text, last.sentAt.rfc3339, shownName(of: peer),
        imageURL(of: peer), "\(conversation.unread)",
      ]
    }
  }

  /// `conversation_page`.
  public func messageRows(between one: String, and other: String) -> [[String?]] {
    guard !model.isBlocked(one, other) else { return [] }
    let shown = messages[[BytewiseString(one), BytewiseString(other)].sorted()] ?? []
    return shown.sorted { newest(($0.sentAt, $0.id), ($1.sentAt, $1.id)) }.map {
      [
        $0.id, $0.sender, $0.text, $0.sentAt.rfc3339, shownName(of: $0.sender),
        "\(model.isRead($0))",
      ]
    }
  }

  /// `alarm_people` without the cursor.
  public func people(behind notification: ModelNotification) -> [[String?]] {
    let viewer = notification.recipient
    return notification.people.map {
      [$0.id] + details(of: $0.id, for: viewer) + [$0.at.rfc3339]
    }
  }

  /// The columns of `alarm_page` that are not its text's, by name.
  public func alarmRow(of notification: ModelNotification) -> [String: String?] {
    let post = notification.post.flatMap { id in home.first { $0.id.hasSameBytes(as: id) } }
    let images = [notification.imageURL, post?.imageURL].compactMap(\.self).filter { !$0.isEmpty }
    let actor = notification.actor
    let actorImage = actor.map(imageURL) ?? ""
    return [
      "notification_id": notification.id, "actor_count": "\(notification.actorCount)",
      "unread": "\(notification.isUnread)", "unseen": "\(notification.isUnseen)",
      "post_id": notification.post ?? "", "comment_id": notification.comment ?? "",
      "image_url": images.first ?? actorImage, "thumbnail_url": images.first ?? "",
      "actor_image_url": actorImage, "actor_name": actor.map(shownName) ?? "",
      "actor_is_followed": "\(actor.map { follows(notification.recipient, $0) } ?? false)",
    ]
  }

  /// `search_users` without a query: id and details.
  public func everybody(for viewer: String) -> [[String?]] {
    profiles.filter {
      !$0.user.hasSameBytes(as: viewer) && !model.isBlocked(viewer, $0.user)
    }.map {
      [$0.user, $0.nickname, $0.name, $0.major, $0.imageURL, shownName(of: $0.user)]
        + details(of: $0.user, for: viewer).suffix(2)
    }
  }
}
