import Events

/// A worker as Kafka knows it, and what it reads.
enum ConsumerGroup: String, CaseIterable {
  case fanout, notification, alarm

  var executable: String { rawValue + "-worker" }

  func name(prefix: String) -> String { prefix + rawValue }

  var topics: [Topic] {
    switch self {
    case .fanout: [.posts, .follows, .messages]
    case .notification: [.likes, .comments, .follows, .messages, .posts, .alarmActions]
    case .alarm: [.profiles, .notificationChanges]
    }
  }

  static func reading(_ topic: Topic) -> [ConsumerGroup] {
    allCases.filter { $0.topics.contains(topic) }
  }
}
