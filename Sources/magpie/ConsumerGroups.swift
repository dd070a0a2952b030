import Events

/// A worker's consumer group and what it consumes; `up` starts these workers, `lag` reports them.
struct ConsumerGroup {
  var executable: String
  var name: String
  var topics: [Topic]

  static let all = [
    ConsumerGroup(
      executable: "fanout-worker", name: "magpie.fanout", topics: [.posts, .follows, .messages]),
    ConsumerGroup(
      executable: "notification-worker", name: "magpie.notification",
      topics: [.likes, .comments, .follows, .messages, .posts, .alarmActions]),
    ConsumerGroup(
      executable: "alarm-worker", name: "magpie.alarm", topics: [.profiles, .notificationChanges]),
  ]
}
