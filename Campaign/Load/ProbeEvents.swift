import Events
import Workload

/// Events about the people that the probes read. Everything that a probe's answer depends on is in
/// one partition of one topic, so each answer must be the state after some prefix of that
/// partition.
struct ProbeEvents {
  static let author = "probe-author"
  static let reader = "probe-reader"
  static let commented = (post: "probe-commented", owner: "probe-commented-owner")
  static let liked = (post: "probe-liked", owner: "probe-liked-owner")
  static let messages = (sender: "probe-sender", receiver: "probe-receiver")

  /// All within one UTC day, so that the post's likes form one notification.
  private static let start: Int64 = 1_741_000_000_000_000

  /// The reader follows the author from the start.
  static let initialEvents = [
    Event(
      id: "probe-follow", source: "magpie/campaign", time: EventTime(microseconds: start),
      payload: .followCreated(
        .with { ($0.follower, $0.followee) = (reader, author) }))
  ]

  private var random: SplitMix64
  private var made = 0
  private var posts: [String] = []
  private var comments: [String] = []

  init(seed: UInt64) { random = SplitMix64(seed: seed ^ 0x9E0BE) }

  mutating func next() -> Event {
    made += 1
    let payload =
      switch Int.random(in: 0..<4, using: &random) {
      case 0: post()
      case 1: comment()
      case 2: like()
      default: message()
      }
    // Some events have later times than events sent after them.
    let late = Int.random(in: 0..<10, using: &random) == 0 ? Int64(3_000_000) : 0
    return Event(
      id: "probe-\(made)", source: "magpie/campaign",
      time: EventTime(microseconds: Self.start + Int64(made) * 1_000_000 + late), payload: payload)
  }

  private mutating func post() -> Payload {
    let made = made
    if posts.count >= 30 || (posts.count > 3 && Int.random(in: 0..<4, using: &random) == 0) {
      let gone = posts.remove(at: Int.random(in: 0..<posts.count, using: &random))
      return .postDeleted(.with { ($0.post, $0.author) = (gone, Self.author) })
    }
    let edited =
      Int.random(in: 0..<4, using: &random) == 0 ? posts.randomElement(using: &random) : nil
    let id = edited ?? "probe-post-\(made)"
    if edited == nil { posts.append(id) }
    return .postPublished(
      .with { ($0.post, $0.author, $0.title) = (id, Self.author, "title \(made)") })
  }

  private mutating func comment() -> Payload {
    let made = made
    let actor = person()
    if comments.count >= 40 || (comments.count > 3 && Int.random(in: 0..<3, using: &random) == 0) {
      let gone = comments.remove(at: Int.random(in: 0..<comments.count, using: &random))
      return .commentRemoved(
        .with {
          ($0.comment, $0.actor) = (gone, actor)
          ($0.post, $0.postOwner) = Self.commented
        })
    }
    comments.append("probe-comment-\(made)")
    return .commentCreated(
      .with {
        ($0.comment, $0.actor, $0.text) = ("probe-comment-\(made)", actor, "text \(made)")
        ($0.post, $0.postOwner) = Self.commented
      })
  }

  private mutating func like() -> Payload {
    let actor = person()
    return Int.random(in: 0..<3, using: &random) == 0
      ? .likeRemoved(
        .with {
          $0.actor = actor
          ($0.post, $0.postOwner) = Self.liked
        })
      : .likeCreated(
        .with {
          $0.actor = actor
          ($0.post, $0.postOwner) = Self.liked
        })
  }

  private func message() -> Payload {
    let made = made
    return .messageSent(
      .with {
        ($0.message, $0.text) = ("probe-message-\(made)", "text \(made)")
        ($0.sender, $0.receiver) = Self.messages
      })
  }

  private mutating func person() -> String {
    "probe-actor-\(Int.random(in: 0..<25, using: &random))"
  }
}
