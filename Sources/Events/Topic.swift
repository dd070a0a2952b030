/// A stream of events of related types, keyed by the person affected.
public enum Topic: String, CaseIterable, Sendable {
  case posts
  case follows
  case likes
  case comments
  case messages
  case profiles
  case alarms
  case alarmActions = "alarm-actions"
  case people
  case subscriptions
  case reminders
  case devices
  case erasures
  case notificationChanges = "notification-changes"
  case alarmChanges = "alarm-changes"

  /// The default prefix of topic names.
  public static let defaultPrefix = "magpie."

  /// The topic's name on the broker, such as `magpie.posts`.
  public func name(prefix: String = Self.defaultPrefix) -> String {
    prefix + rawValue
  }

  /// The topic with this name on the broker; nil if it is not one of Magpie's.
  public init?(name: String, prefix: String = Self.defaultPrefix) {
    guard name.hasPrefix(prefix) else { return nil }
    self.init(rawValue: String(name.dropFirst(prefix.count)))
  }

  /// Whether workers write the topic, and producers do not.
  public var isInternal: Bool { self == .notificationChanges || self == .alarmChanges }

  /// Whether its records hold secrets: no copy of a record's value is kept outside of Kafka.
  public var isSecret: Bool { self == .devices }

  /// The event types that belong to the topic.
  public var types: [EventType] {
    EventType.allCases.filter { $0.topic == self }
  }
}
