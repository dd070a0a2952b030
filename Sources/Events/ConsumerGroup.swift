/// A worker as Kafka knows it, and what it reads.
public enum ConsumerGroup: String, CaseIterable, Sendable {
  case fanout, notification, alarm

  /// The worker's executable, such as `fanout-worker`.
  public var executable: String { rawValue + "-worker" }

  /// The group's name on the broker and in the database; it begins as those of the topics do.
  public func name(prefix: String) -> String { prefix + rawValue }

  /// What the worker consumes.
  public var topics: [Topic] {
    switch self {
    case .fanout: [.posts, .follows, .messages]
    case .notification: [.likes, .comments, .follows, .messages, .posts, .alarmActions]
    case .alarm: [.profiles, .notificationChanges]
    }
  }

  /// The groups that consume the topic.
  public static func reading(_ topic: Topic) -> [ConsumerGroup] {
    allCases.filter { $0.topics.contains(topic) }
  }

  /// Where `magpie archive run` reports how far it is. It is no worker, and holds up nobody.
  public static func archive(prefix: String) -> String { prefix + "archive" }
}
