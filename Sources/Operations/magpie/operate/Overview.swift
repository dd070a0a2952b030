import Rebuild

/// The contents of the first page.
struct Overview: Encodable, Sendable {
  /// The samples that the page does not have yet, oldest first.
  var samples: [Sample]
  /// Whether the page must discard its samples, because this process was restarted.
  var isNew: Bool
  /// The interval between samples, in seconds.
  var interval: Double
  var processes: [ProcessLook.Shown]
  var pending: Pending?
  var openDeadLetters: Int64?
  var missingTopics: [String]
  var unanswered: [String]
  /// Partitions whose log does not hold the stored offset.
  var cutOff: [String]
  var overdueReminders: Double?
  var rebuilds: [RebuildState]
  /// Why the data of PostgreSQL or Kafka is missing.
  var problem: String?
}

/// One partition of one consumer group.
struct ShownOffset: Encodable, Sendable {
  var partition: LagReport.Partition
  var ownerEpoch: Int64?
  var movedAt: String?
}
