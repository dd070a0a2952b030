public import Events

/// What feeds, conversations and profile numbers should be, computed the simple way: keep the
/// newest version of every fact, then look through all of them.
///
/// Lines, not rows, so that a difference reads well; fields are separated by a bar.
public struct FeedModel: Sendable {
  private struct Post {
    var version: Version
    var content: PostPublished
    var isDeleted: Bool
  }
  private struct Follow {
    var version: Version
    var followee: BytewiseString
    var follower: BytewiseString
    var isActive: Bool
  }
  private struct Message {
    var version: Version
    var content: MessageSent
  }

  private var posts: [BytewiseString: Post] = [:]
  private var follows: [[BytewiseString]: Follow] = [:]
  private var messages: [BytewiseString: Message] = [:]
  /// Everybody that any event named.
  public private(set) var people: Set<BytewiseString> = []

  public init() {}

  public init(_ events: some Sequence<Event>) {
    for event in events { apply(event) }
  }

  /// Events of other topics change nothing here.
  public mutating func apply(_ event: Event) {
    switch event.payload {
    case .postPublished(let data):
      keep(Post(version: event.version, content: data, isDeleted: false))
    case .postDeleted(let data):
      var content = PostPublished()
      (content.post, content.author) = (data.post, data.author)
      keep(Post(version: event.version, content: content, isDeleted: true))
    case .followCreated(let data): follow(event, data.followee, data.follower, true)
    case .followRemoved(let data): follow(event, data.followee, data.follower, false)
    case .messageSent(let data):
      people.formUnion([BytewiseString(data.sender), BytewiseString(data.receiver)])
      let id = BytewiseString(data.message)
      if let known = messages[id], event.version <= known.version { return }
      messages[id] = Message(version: event.version, content: data)
    default: break
    }
  }

  private mutating func keep(_ post: Post) {
    people.insert(BytewiseString(post.content.author))
    let id = BytewiseString(post.content.post)
    if let known = posts[id], post.version <= known.version { return }
    posts[id] = post
  }

  private mutating func follow(
    _ event: Event, _ followee: String, _ follower: String, _ isActive: Bool
  ) {
    let pair = [BytewiseString(followee), BytewiseString(follower)]
    people.formUnion(pair)
    if let known = follows[pair], event.version <= known.version { return }
    follows[pair] = Follow(
      version: event.version, followee: pair[0], follower: pair[1], isActive: isActive)
  }

  private func followed(by reader: BytewiseString) -> Set<BytewiseString> {
    Set(follows.values.filter { $0.isActive && $0.follower == reader }.map(\.followee))
  }

  /// Newest first by (time, id), as `post|author|title|caption|image|microseconds`.
  private func lines(_ included: (Post) -> Bool) -> [BytewiseString] {
    posts.values.filter { !$0.isDeleted && included($0) }
      .sorted {
        ($1.version.time, BytewiseString($1.content.post)) < (
          $0.version.time, BytewiseString($0.content.post)
        )
      }
      .map { post in
        let data = post.content
        return line(
          data.post, data.author, data.title, data.caption, data.imageURL,
          "\(post.version.time.microseconds)")
      }
  }

  public func home() -> [BytewiseString] { lines { _ in true } }

  public func feed(of reader: BytewiseString) -> [BytewiseString] {
    let followed = followed(by: reader)
    return lines { followed.contains(BytewiseString($0.content.author)) }
  }

  /// `posts|followers|following`.
  public func stats(of person: BytewiseString) -> BytewiseString {
    let active = follows.values.filter(\.isActive)
    let published = posts.values.filter {
      !$0.isDeleted && $0.content.author.hasSameBytes(as: person.string)
    }
    return line(
      "\(published.count)", "\(active.count { $0.followee == person })",
      "\(active.count { $0.follower == person })")
  }

  private func messages(of person: BytewiseString) -> [(peer: BytewiseString, message: Message)] {
    messages.values
      .sorted {
        ($1.version.time, BytewiseString($1.content.message)) < (
          $0.version.time, BytewiseString($0.content.message)
        )
      }
      .compactMap { message in
        let (sender, receiver) = (
          BytewiseString(message.content.sender), BytewiseString(message.content.receiver)
        )
        if sender == person { return (receiver, message) }
        return receiver == person ? (sender, message) : nil
      }
  }

  /// Newest first, as `peer|message|sender|text|microseconds`.
  public func conversations(of person: BytewiseString) -> [BytewiseString] {
    var seen: Set<BytewiseString> = []
    return messages(of: person).filter { seen.insert($0.peer).inserted }.map { peer, message in
      line(
        peer.string, message.content.message, message.content.sender, message.content.text,
        "\(message.version.time.microseconds)")
    }
  }

  /// Newest first, as `message|sender|text|microseconds`.
  public func conversation(of person: BytewiseString, with peer: BytewiseString) -> [BytewiseString]
  {
    messages(of: person).filter { $0.peer == peer }.map { _, message in
      line(
        message.content.message, message.content.sender, message.content.text,
        "\(message.version.time.microseconds)")
    }
  }

  private func line(_ fields: String...) -> BytewiseString {
    BytewiseString(fields.joined(separator: "|"))
  }
}
