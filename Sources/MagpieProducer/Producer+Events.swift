public import Events
import Foundation

/// The events of a social app, one method each. Every method builds an event with the configured
/// source and publishes it like ``Producer/publish(_:)``.
///
/// `id` and `time` default to a new UUID and the current time. To retry after an error, pass the
/// same values; the first attempt may have succeeded. The event carries `TraceContext.current`, if
/// the task has one.
extension Producer {
  /// Publishes an event with this payload.
  @discardableResult
  public func publish(_ payload: Payload, id: String? = nil, at time: EventTime? = nil)
    async throws -> Acknowledgement
  {
    try await publish(
      Event(
        id: id ?? UUID().uuidString.lowercased(), source: configuration.source,
        time: time ?? .now, payload: payload, trace: TraceContext.current))
  }

  /// A post was published. Mentioned people are notified.
  @discardableResult
  public func post(
    _ post: String, by author: String, title: String = "", caption: String = "",
    imageURL: String = "", mentions: [String] = [], id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = PostPublished()
    data.post = post
    data.author = author
    data.title = title
    data.caption = caption
    data.imageURL = imageURL
    data.mentions = mentions
    return try await publish(.postPublished(data), id: id, at: time)
  }

  /// The author deleted a post.
  @discardableResult
  public func deletePost(
    _ post: String, by author: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = PostDeleted()
    data.post = post
    data.author = author
    return try await publish(.postDeleted(data), id: id, at: time)
  }

  /// A person follows another one.
  @discardableResult
  public func follow(
    follower: String, followee: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = FollowCreated()
    data.follower = follower
    data.followee = followee
    return try await publish(.followCreated(data), id: id, at: time)
  }

  /// A person no longer follows another one.
  @discardableResult
  public func unfollow(
    follower: String, followee: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = FollowRemoved()
    data.follower = follower
    data.followee = followee
    return try await publish(.followRemoved(data), id: id, at: time)
  }

  /// A person likes a post; `owner` is the post's author.
  @discardableResult
  public func like(
    actor: String, post: String, owner: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = LikeCreated()
    data.actor = actor
    data.post = post
    data.postOwner = owner
    return try await publish(.likeCreated(data), id: id, at: time)
  }

  /// A person takes a like back; `owner` is the post's author.
  @discardableResult
  public func unlike(
    actor: String, post: String, owner: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = LikeRemoved()
    data.actor = actor
    data.post = post
    data.postOwner = owner
    return try await publish(.likeRemoved(data), id: id, at: time)
  }

  /// A person comments on a post; `owner` is the post's author.
  @discardableResult
  public func comment(
    _ comment: String, actor: String, post: String, owner: String, text: String,
    mentions: [String] = [], id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = CommentCreated()
    data.comment = comment
    data.actor = actor
    data.post = post
    data.postOwner = owner
    data.text = text
    data.mentions = mentions
    return try await publish(.commentCreated(data), id: id, at: time)
  }

  /// A comment was removed; `owner` is the post's author.
  @discardableResult
  public func removeComment(
    _ comment: String, actor: String, post: String, owner: String, id: String? = nil,
    at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = CommentRemoved()
    data.comment = comment
    data.actor = actor
    data.post = post
    data.postOwner = owner
    return try await publish(.commentRemoved(data), id: id, at: time)
  }

  /// A person sends a message to another one.
  @discardableResult
  public func message(
    _ message: String, from sender: String, to receiver: String, text: String,
    id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = MessageSent()
    data.message = message
    data.sender = sender
    data.receiver = receiver
    data.text = text
    return try await publish(.messageSent(data), id: id, at: time)
  }

  /// A person has read everything that `peer` sent to them up to the event's time.
  @discardableResult
  public func readConversation(
    user: String, peer: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = ConversationRead()
    data.user = user
    data.peer = peer
    return try await publish(.conversationRead(data), id: id, at: time)
  }

  /// Changes fields of a person's profile, at least one; nil leaves a field as it is.
  ///
  /// - Parameter zone: an IANA time zone, such as `Asia/Seoul`.
  @discardableResult
  public func editProfile(
    _ user: String, nickname: String? = nil, locale: String? = nil, imageURL: String? = nil,
    name: String? = nil, major: String? = nil, bio: String? = nil, zone: String? = nil,
    id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    let data = ProfileEdited(
      user: user, nickname: nickname, locale: locale, imageURL: imageURL, name: name, major: major,
      bio: bio, zone: zone)
    return try await publish(.profileEdited(data), id: id, at: time)
  }

  /// A person's complete profile: omitted fields are cleared.
  ///
  /// - Parameter zone: an IANA time zone, such as `Asia/Seoul`.
  @discardableResult
  public func profile(
    _ user: String, nickname: String, locale: String, imageURL: String = "", name: String = "",
    major: String = "", bio: String = "", zone: String = "", id: String? = nil,
    at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = ProfileChanged()
    data.user = user
    data.nickname = nickname
    data.locale = locale
    data.imageURL = imageURL
    data.name = name
    data.major = major
    data.bio = bio
    data.zone = zone
    return try await publish(.profileChanged(data), id: id, at: time)
  }
}
