public import Events

/// Builders of events' data, with arguments in the order of a sentence.
extension Payload {
  public static func post(
    _ post: String, by author: String, title: String = "", caption: String = "",
    image: String = "", mentions: [String] = []
  ) -> Payload {
    .postPublished(
      .with {
        ($0.post, $0.author, $0.title, $0.caption) = (post, author, title, caption)
        ($0.imageURL, $0.mentions) = (image, mentions)
      })
  }

  public static func postDeletion(_ post: String, by author: String) -> Payload {
    .postDeleted(.with { ($0.post, $0.author) = (post, author) })
  }

  public static func follow(_ follower: String, _ followee: String) -> Payload {
    .followCreated(.with { ($0.follower, $0.followee) = (follower, followee) })
  }

  public static func unfollow(_ follower: String, _ followee: String) -> Payload {
    .followRemoved(.with { ($0.follower, $0.followee) = (follower, followee) })
  }

  public static func like(_ actor: String, _ post: String, of owner: String) -> Payload {
    .likeCreated(.with { ($0.actor, $0.post, $0.postOwner) = (actor, post, owner) })
  }

  public static func unlike(_ actor: String, _ post: String, of owner: String) -> Payload {
    .likeRemoved(.with { ($0.actor, $0.post, $0.postOwner) = (actor, post, owner) })
  }

  public static func comment(
    _ comment: String, by actor: String, on post: String, of owner: String, _ text: String = "",
    mentions: [String] = []
  ) -> Payload {
    .commentCreated(
      .with {
        ($0.comment, $0.actor, $0.post, $0.postOwner) = (comment, actor, post, owner)
        ($0.text, $0.mentions) = (text, mentions)
      })
  }

  public static func commentRemoval(
    _ comment: String, by actor: String, on post: String, of owner: String
  ) -> Payload {
    .commentRemoved(
      .with { ($0.comment, $0.actor, $0.post, $0.postOwner) = (comment, actor, post, owner) })
  }

  public static func message(
    _ message: String, from sender: String, to receiver: String, _ text: String = ""
  ) -> Payload {
    .messageSent(
      .with { ($0.message, $0.sender, $0.receiver, $0.text) = (message, sender, receiver, text) })
  }

  public static func profile(
    _ user: String, nickname: String, locale: String = "", image: String = "", name: String = "",
    major: String = "", bio: String = ""
  ) -> Payload {
    .profileChanged(
      .with {
        ($0.user, $0.nickname, $0.locale, $0.imageURL) = (user, nickname, locale, image)
        ($0.name, $0.major, $0.bio) = (name, major, bio)
      })
  }

  /// An edit of the fields that are not nil.
  public static func edit(
    _ user: String, nickname: String? = nil, locale: String? = nil, image: String? = nil,
    name: String? = nil
  ) -> Payload {
    .profileEdited(
      ProfileEdited(user: user, nickname: nickname, locale: locale, imageURL: image, name: name))
  }

  public static func read(_ user: String, _ peer: String) -> Payload {
    .conversationRead(.with { ($0.user, $0.peer) = (user, peer) })
  }

  public static func mute(_ user: String, _ type: String) -> Payload {
    .alarmMuted(.with { ($0.user, $0.type) = (user, type) })
  }

  public static func unmute(_ user: String, _ type: String) -> Payload {
    .alarmUnmuted(.with { ($0.user, $0.type) = (user, type) })
  }
}
