import Events

// The rows of the page functions, as one viewer sees them. Pages are complete, in the functions' order.
extension Model {
  /// The nickname, or else the name; empty if neither is known.
  public func shownName(of user: String) -> String {
    guard let profile = profile(of: user) else { return "" }
    let isVisible = profile.nickname.unicodeScalars.contains {
      !$0.properties.isWhitespace && !$0.properties.isDefaultIgnorableCodePoint
    }
    return isVisible ? profile.nickname : profile.name
  }

  private func imageURL(of user: String) -> String { profile(of: user)?.imageURL ?? "" }

  private func follows(_ follower: String, _ followee: String) -> Bool {
    follows[[.init(followee), .init(follower)]]?.newest.creates ?? false
  }

  /// A post's row: `post_row` without the cursor.
  public func row(of post: ModelPost, for viewer: String) -> [String?] {
    let stats = postStats[.init(post.id)] ?? (0, 0)
    let isLiked = likes[[.init(post.id), .init(viewer)]]?.newest.creates ?? false
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
    people.filter { !isBlocked(viewer, $0.id) }.map {
      [$0.id] + details(of: $0.id, for: viewer) + [$0.at.rfc3339]
    }
  }

  /// `likers_page`.
  public func likers(of post: String, for viewer: String) -> [[String?]] {
    let shown = allLikes.filter { $0.isActive && $0.post.hasSameBytes(as: post) }
      .compactMap { like in like.firstAt.map { (id: like.actor, at: $0) } }
      .sorted { newest(($0.at, $0.id), ($1.at, $1.id)) }
    return rows(shown, for: viewer)
  }

  /// `followers_page`.
  public func followers(of user: String, for viewer: String) -> [[String?]] {
    followRows(of: user, for: viewer, \.followee, \.follower)
  }

  /// `following_page`.
  public func following(of user: String, for viewer: String) -> [[String?]] {
    followRows(of: user, for: viewer, \.follower, \.followee)
  }

  private func followRows(
    of user: String, for viewer: String, _ own: KeyPath<ModelFollow, String>,
    _ other: KeyPath<ModelFollow, String>
  ) -> [[String?]] {
    guard !isBlocked(viewer, user) else { return [] }
    let shown = allFollows.filter { $0.isActive && $0[keyPath: own].hasSameBytes(as: user) }
      .sorted {
        $0.version != $1.version
          ? $0.version > $1.version
          : BytewiseString($0[keyPath: other]) > BytewiseString($1[keyPath: other])
      }
    return rows(shown.map { ($0[keyPath: other], $0.version.time) }, for: viewer)
  }

  /// `profile`; nil if the function returns no row.
  public func profileRow(of user: String, for viewer: String) -> [String?]? {
    let isNamed = profile(of: user) != nil || profileStats[.init(user)] != nil
    let blocks = { (one: String, other: String) in
      self.isBlocked(one, other)
        && self.blocks[[.init(one), .init(other)]]?.newest.creates ?? false
    }
    guard isNamed, !blocks(user, viewer) else { return nil }
    let (data, stats) = (profile(of: user) ?? ProfileChanged(), profileStats(of: user))
    let silence = (silences[[.init(viewer), .init(user)]] ?? [:]).max { $0.key < $1.key }?.value
    return [
      user, shownName(of: user), data.nickname, data.name, data.major, data.bio, data.imageURL,
      user.hasSameBytes(as: viewer) ? data.locale : nil, "\(stats.posts)", "\(stats.followers)",
      "\(stats.following)", "\(follows(viewer, user))", "\(follows(user, viewer))",
      "\(blocks(viewer, user))", "\(silence.map { $0.isOff && $0.until == nil } ?? false)",
    ]
  }

  /// `comment_page` without the cursor.
  public func commentRows(on post: String, for viewer: String) -> [[String?]] {
    comments(on: post, for: viewer).map { comment in
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
    conversations(of: user).map { conversation in
      let (peer, last) = (conversation.peer, conversation.last)
      return [
        peer, last.id, last.sender, last.text, last.sentAt.rfc3339, shownName(of: peer),
        imageURL(of: peer), "\(conversation.unread)",
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

  /// The columns of `alarm_page` that come from profiles and posts: image_url, thumbnail_url,
  /// actor_image_url, actor_name, actor_is_followed.
  public func details(of notification: ModelNotification) -> [String?] {
    let post = notification.post.flatMap { post in
      allPosts.first { $0.id.hasSameBytes(as: post) && !$0.isDeleted }
    }
    let images = [notification.imageURL, post?.imageURL].compactMap(\.self).filter { !$0.isEmpty }
    let actor = notification.actor
    let actorImage = actor.map(imageURL) ?? ""
    return [
      images.first ?? actorImage, images.first ?? "", actorImage,
      actor.map(shownName) ?? "", "\(actor.map { follows(notification.recipient, $0) } ?? false)",
    ]
  }

  /// `search_users` without a query: id and details.
  public func everybody(for viewer: String) -> [[String?]] {
    allProfiles.filter {
      !$0.user.hasSameBytes(as: viewer) && !isBlocked(viewer, $0.user)
    }.sorted { ($0.name, $0.user) <~ ($1.name, $1.user) }.map {
      [$0.user, $0.nickname, $0.name, $0.major, $0.imageURL, shownName(of: $0.user)]
        + details(of: $0.user, for: viewer).suffix(2)
    }
  }
}
