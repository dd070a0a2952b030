public import Events

/// Reads the LDBC Social Network Benchmark's Interactive v1 files (CSV, "merge foreign" layout)
/// as events.
///
/// People become profiles, friendships two follows each, posts posts (`imageFile` as the image's
/// URL), comments comments on the post at the root of their thread, likes of posts likes. Ids are
/// the benchmark's own; event ids derive from them, so that importing twice changes nothing.
public struct LDBC: Sendable {
  /// In time order; at equal times people first, then follows, posts, comments and likes.
  public private(set) var events: [Event] = []
  /// The number of items without a counterpart, by name, such as "likes of comments".
  public private(set) var skipped: [String: Int] = [:]

  /// Reads a directory's snapshot and update streams completely into memory: about 1 KB per event.
  ///
  /// - Throws: ``LDBCError`` if a snapshot file is missing or a line is malformed.
  public init(directory: String) throws(LDBCError) {
    let files = try LDBCFiles(directory: directory)
    var network = LDBCNetwork()
    try files.readSnapshot(into: &network)
    try files.readUpdates(into: &network)
    skipped = network.skipped
    var ranked: [(rank: Int, event: Event)] = []
    add(people: network, to: &ranked)
    add(posts: network, to: &ranked)
    add(comments: network, to: &ranked)
    add(likes: network, to: &ranked)
    ranked.sort { left, right in
      left.event.time != right.event.time
        ? left.event.time < right.event.time
        : (left.rank, left.event.id) < (right.rank, right.event.id)
    }
    events = ranked.map(\.event)
  }

  private mutating func skip(_ what: String) { skipped[what, default: 0] += 1 }

  private mutating func add(
    _ rank: Int, _ id: String, _ time: EventTime, _ payload: Payload,
    to ranked: inout [(rank: Int, event: Event)]
  ) {
    let event = Event(id: "ldbc-" + id, source: "ldbc-snb", time: time, payload: payload)
    // Count events that every consumer would reject instead of publishing them.
    guard (try? EventCodec.encode(event)) != nil else {
      return skip("\(event.type.rawValue) beyond the bounds of events")
    }
    ranked.append((rank, event))
  }

  private mutating func add(
    people network: LDBCNetwork, to ranked: inout [(rank: Int, event: Event)]
  ) {
    for person in network.people.values {
      let locale = person.languages.first ?? network.languages[person.id]?.first ?? ""
      add(
        0, "person-\(person.id)", person.created,
        .profileChanged(
          .with {
            $0.user = person.id
            $0.name = person.firstName + " " + person.lastName
            ($0.nickname, $0.locale) = ($0.name, locale)
          }), to: &ranked)
    }
    for friendship in network.friendships {
      guard network.people[friendship.first] != nil, network.people[friendship.second] != nil
      else {
        skip("friendships with an unknown person")
        continue
      }
      for (follower, followee) in [
        (friendship.first, friendship.second), (friendship.second, friendship.first),
      ] {
        add(
          1, "follow-\(follower)-\(followee)", friendship.created,
          .followCreated(.with { ($0.follower, $0.followee) = (follower, followee) }),
          to: &ranked)
      }
    }
  }

  private mutating func add(
    posts network: LDBCNetwork, to ranked: inout [(rank: Int, event: Event)]
  ) {
    for post in network.posts.values {
      guard network.people[post.author] != nil else {
        skip("posts by an unknown person")
        continue
      }
      add(
        2, "post-\(post.id)", post.created,
        .postPublished(
          .with {
            ($0.post, $0.author) = (post.id, post.author)
            ($0.caption, $0.imageURL) = (post.content, post.imageFile)
          }), to: &ranked)
    }
  }

  private mutating func add(
    comments network: LDBCNetwork, to ranked: inout [(rank: Int, event: Event)]
  ) {
    let posts = network.postsOfComments()
    for comment in network.comments.values {
      guard let post = posts[comment.id] else {
        skip("comments that lead up to no known post")
        continue
      }
      guard network.people[comment.author] != nil, network.people[post.author] != nil else {
        skip("comments by or for an unknown person")
        continue
      }
      add(
        3, "comment-\(comment.id)", comment.created,
        .commentCreated(
          .with {
            ($0.comment, $0.actor) = (comment.id, comment.author)
            ($0.post, $0.postOwner, $0.text) = (post.id, post.author, comment.content)
          }), to: &ranked)
    }
  }

  private mutating func add(
    likes network: LDBCNetwork, to ranked: inout [(rank: Int, event: Event)]
  ) {
    for like in network.likes {
      guard let post = network.posts[like.post] else {
        skip("likes of an unknown post")
        continue
      }
      guard network.people[like.person] != nil, network.people[post.author] != nil else {
        skip("likes by or for an unknown person")
        continue
      }
      add(
        4, "like-\(like.person)-\(like.post)", like.created,
        .likeCreated(
          .with {
            ($0.actor, $0.post, $0.postOwner) = (like.person, like.post, post.author)
          }), to: &ranked)
    }
  }
}

/// An error in the files, and its position.
public struct LDBCError: Error, CustomStringConvertible {
  public var description: String
  /// Whether the directory or a file is missing or cannot be read, as opposed to what a file says.
  public var isUnreadable: Bool

  init(_ description: String, isUnreadable: Bool = false) {
    (self.description, self.isUnreadable) = (description, isUnreadable)
  }
}
