import Events

/// A worker's consumer group and what it consumes; `up` starts these workers, `lag` reports them.
struct ConsumerGroup {
  var executable: String
  var name: String
  var topics: [Topic]

  /// The groups; their names begin as those of the topics do.
  static func all(prefix: String) -> [ConsumerGroup] {
    [
      ConsumerGroup(
        executable: "fanout-worker", name: prefix + "fanout",
        topics: [.posts, .follows, .messages]),
      ConsumerGroup(
        executable: "notification-worker", name: prefix + "notification",
        topics: [.likes, .comments, .follows, .messages, .posts, .alarmActions]),
      ConsumerGroup(
        executable: "alarm-worker", name: prefix + "alarm",
        topics: [.profiles, .notificationChanges]),
    ]
  }

  /// Where `magpie archive run` reports how far it is.
  static func archive(prefix: String) -> String { prefix + "archive" }
}
