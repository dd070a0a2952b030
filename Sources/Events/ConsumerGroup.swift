/// A worker's consumer group and the topics that it reads.
public enum ConsumerGroup: String, CaseIterable, Sendable {
  case fanout, notification, alarm, reminder, push

  /// Whether Magpie is complete without the worker: nothing waits for it until it has run once.
  public var isOptional: Bool { self == .push }

  /// The groups that always run.
  public static let required = allCases.filter { !$0.isOptional }

  /// The worker's executable, such as `fanout-worker`.
  public var executable: String { rawValue + "-worker" }

  /// The group's name on the broker and in the database, with the same prefix as the topics.
  public func name(prefix: String) -> String { prefix + rawValue }

  /// The topics that the worker consumes.
  public var topics: [Topic] {
    switch self {
    case .fanout: [.posts, .follows, .messages, .erasures]
    case .notification:
      [
        .likes, .comments, .follows, .messages, .subscriptions, .posts, .alarms, .alarmActions,
        .people, .erasures,
      ]
    case .alarm: [.profiles, .notificationChanges, .erasures]
    case .reminder: [.reminders, .profiles, .erasures]
    case .push: [.alarmChanges, .devices, .alarmActions, .people, .messages, .erasures]
    }
  }

  /// The groups that consume the topic.
  public static func reading(_ topic: Topic, includingOptional: Bool = true) -> [ConsumerGroup] {
    (includingOptional ? allCases : required).filter { $0.topics.contains(topic) }
  }

  /// The group to which `magpie archive run` commits its progress. It is not a worker's group, so
  /// nothing waits for it.
  public static func archive(prefix: String) -> String { prefix + "archive" }
}
