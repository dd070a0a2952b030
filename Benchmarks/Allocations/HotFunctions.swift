import AlarmText
import Alarms
import AllocationCount
import Events
import Feeds
import Handling
import Kafka
import Lanes
import Notifications

/// The functions that run for every event, and the maximum allocations per event.
///
/// Limits are measured counts plus a tenth for other compiler versions. Lower a limit when a change
/// permits it; raise one only deliberately.
enum HotFunction: String, CaseIterable {
  case decodeLike = "decode a like, Protobuf"
  case decodeLikeJSON = "decode a like, JSON"
  case decodePost = "decode a post, Protobuf"
  case encodeChange = "encode a notification change"
  case applyLikes = "2,000 likes to statements, notification-worker"
  case applyPosts = "250 posts to statements, fanout-worker"
  case applyFollows = "250 follows to statements, fanout-worker"
  case applyChanges = "2,000 notification changes to statements, alarm-worker"

  var limit: Double {
    #if DEBUG
      switch self {
      case .decodeLike: 44
      case .decodeLikeJSON: 47.5
      case .decodePost: 38.5
      case .encodeChange: 138
      case .applyLikes: 89
      case .applyPosts: 18.5
      case .applyFollows: 22
      case .applyChanges: 9
      }
    #else
      switch self {
      case .decodeLike: 4.4
      case .decodeLikeJSON: 6.6
      case .decodePost: 4.4
      case .encodeChange: 20
      case .applyLikes: 18.5
      case .applyPosts: 0.4
      case .applyFollows: 1.5
      case .applyChanges: 1.2
      }
    #endif
  }
}

struct HotFunctions {
  private static let time = EventTime(microseconds: 1_760_000_000_000_000)
  private static let now = EventTime(microseconds: 1_760_000_001_000_000)

  func measure() throws -> [(HotFunction, Double)] {
    try HotFunction.allCases.map { ($0, try blocks($0)) }
  }

  private func blocks(_ function: HotFunction) throws -> Double {
    switch function {
    case .decodeLike: try decoding(likes(1)[0], .likes, .protobuf)
    case .decodeLikeJSON: try decoding(likes(1)[0], .likes, .json)
    case .decodePost: try decoding(posts(1)[0], .posts, .protobuf)
    case .encodeChange:
      try count(of: 1, changes(1)) { events in
        _ = try EventCodec.encode(events[0], as: .protobuf)
      }
    case .applyLikes: try applying(notificationHandler(), .likes, likes(2_000))
    case .applyPosts: try applying(feedHandler(), .posts, posts(250))
    case .applyFollows: try applying(feedHandler(), .follows, follows(250))
    case .applyChanges:
      try applying(alarmHandler(defaultLocale: "en"), .notificationChanges, changes(2_000))
    }
  }

  /// Starts from the record as copied from librdkafka.
  private func decoding(_ event: Event, _ topic: Topic, _ type: ContentType) throws -> Double {
    let record = Record(
      topic: topic.name(), partition: 0, offset: 0, timestampMilliseconds: 0,
      wire: try EventCodec.encode(event, as: type))
    return try count(of: 1, record) { record in
      _ = try EventCodec.decode(record.wire, topic: topic, now: Self.now)
    }
  }

  private func applying(_ handler: Handler, _ topic: Topic, _ events: [Event]) throws -> Double {
    try count(of: events.count, events) { _ = try handler.apply(topic, $0) }
  }

  /// Allocations per event, averaged over several iterations after a warm-up.
  private func count<Input>(
    of events: Int, _ input: Input, _ body: (Input) throws -> Void
  ) throws -> Double {
    let turns = max(5, 1_000 / events)
    for _ in 0..<2 { try body(input) }
    let before = allocation_count()
    for _ in 0..<turns { try body(input) }
    return Double(allocation_count() - before) / Double(turns * events)
  }

  // Ids have realistic lengths, which exceed Swift's inline strings.

  private func likes(_ count: Int) -> [Event] {
    events(count) { index in
      .likeCreated(
        .with {
          $0.actor = "reader-of-posts-\(index)"
          $0.post = "post-of-somebody-\(index % 900)"
          $0.postOwner = "author-of-posts-\(index % 200)"
        })
    }
  }

  private func follows(_ count: Int) -> [Event] {
    events(count) { index in
      .followCreated(
        .with {
          $0.follower = "reader-of-posts-\(index)"
          $0.followee = "author-of-posts-\(index % 20)"
        })
    }
  }

  private func posts(_ count: Int) -> [Event] {
    events(count) { index in
      .postPublished(
        .with {
          $0.post = "post-of-somebody-\(index)"
          $0.author = "author-of-posts-\(index % 20)"
          $0.title = "A title \(index)"
          $0.caption = "A caption of an ordinary length, about as long as this one here."
        })
    }
  }

  private func changes(_ count: Int) -> [Event] {
    events(count) { index in
      .notificationChanged(
        .with {
          $0.notification = NotificationID.uuid(
            recipient: "author-of-posts-\(index % 200)", kind: AlarmType.like.code,
            subject: "post-\(index)",
            day: "2025-10-09")
          $0.recipient = "author-of-posts-\(index % 200)"
          $0.type = 0
          $0.subject = "post-of-somebody-\(index)"
          $0.actor = "reader-of-posts-\(index)"
          $0.secondActor = "reader-of-posts-\(index + 1)"
          $0.actorCount = 12
          $0.contributionCount = 12
          $0.post = "post-of-somebody-\(index)"
          $0.raisedAt = Self.time.microseconds
          $0.generation = 1
          $0.counter = Int64(index + 1)
        })
    }
  }

  private func events(_ count: Int, _ payload: (Int) -> Payload) -> [Event] {
    (0..<count).map { index in
      Event(
        id: "an-event-of-ordinary-length-\(index)", source: "allocations", time: Self.time,
        payload: payload(index))
    }
  }
}
