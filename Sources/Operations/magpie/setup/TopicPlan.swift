import ArgumentParser
import Events
import Kafka

/// The topics of one prefix to create, and those with an unequal partition count.
struct TopicPlan: Equatable {
  /// The missing topics.
  var missing: [NewTopic]
  /// Topics whose partition count is not the most frequent one, with their counts.
  var unequal: [String: Int]
  /// The partition count of all others.
  var partitions: Int

  /// - Parameters:
  ///   - present: partition counts by full name.
  ///   - partitions: for new topics, if none exist yet; nil is 12. Otherwise a missing topic gets the
  ///     count of the others, because consumers read all of them as one set.
  ///   - replicationFactor: nil fits the number of brokers.
  ///   - retention: nil is the cluster's default, but a week for internal and secret topics.
  init(
    _ topics: [Topic], prefix: String, present: [String: Int], brokers: Int, partitions: Int?,
    replicationFactor: Int?, retention: Retention?
  ) {
    let names = topics.map { $0.name(prefix: prefix) }
    let counts = Dictionary(grouping: names.compactMap { present[$0] }, by: \.self)
    // The larger of two counts that are equally frequent: a topic created by mistake usually has one
    // partition.
    let usual = counts.max { ($0.value.count, $0.key) < ($1.value.count, $1.key) }?.key
    let count = usual ?? partitions ?? 12
    self.partitions = count
    unequal = present.filter { names.contains($0.key) && $0.value != count }
    let factor = replicationFactor ?? Self.replicationFactor(brokers: brokers)
    missing = topics.filter { present[$0.name(prefix: prefix)] == nil }.map { topic in
      // The topics that workers write are keyed by recipient, not by notification: compaction would
      // keep one notification per recipient.
      var configuration = [
        "cleanup.policy": "delete",
        "min.insync.replicas": "\(Self.minInSyncReplicas(replicationFactor: factor))",
      ]
      if let retention = Retention.of(topic, asked: retention) {
        configuration["retention.ms"] = "\(retention.milliseconds)"
        // Kafka deletes whole segments, and by default a segment grows for a week.
        if retention.milliseconds >= 0 {
          configuration["segment.ms"] = "\(min(retention.milliseconds, 86_400_000))"
        }
      }
      return NewTopic(
        name: topic.name(prefix: prefix), partitions: count, replicationFactor: factor,
        configuration: configuration)
    }
  }

  /// Three copies if there are enough brokers: one broker may then fail while another is down for
  /// maintenance, without loss of acknowledged records.
  static func replicationFactor(brokers: Int) -> Int { brokers >= 3 ? 3 : 1 }

  /// Producers use `acks=all`. With three copies, two must have an acknowledged record, so that one broker
  /// may be down.
  static func minInSyncReplicas(replicationFactor: Int) -> Int { replicationFactor >= 3 ? 2 : 1 }
}

/// The retention of a topic.
struct Retention: Equatable, ExpressibleByArgument {
  /// -1 is unlimited.
  var milliseconds: Int64

  static let help = "forever, or a number of days or hours, such as 365d or 48h"

  private static let week: Int64 = 7 * 86_400_000

  init(milliseconds: Int64) { self.milliseconds = milliseconds }

  init?(argument: String) {
    if argument == "forever" {
      milliseconds = -1
      return
    }
    let unit: Int64? =
      switch argument.last {
      case "d": 86_400_000
      case "h": 3_600_000
      default: nil
      }
    guard let unit, let count = Int64(argument.dropLast()), (1...1_000_000).contains(count) else {
      return nil
    }
    milliseconds = count * unit
  }

  /// The retention of a topic; nil is the cluster's default.
  ///
  /// The tables hold what notification-changes, alarm-changes and devices say, so a week suffices: the longest
  /// outage of their consumers. Secrets are to be kept no longer.
  static func of(_ topic: Topic, asked: Retention?) -> Retention? {
    guard topic.isInternal || topic.isSecret else { return asked }
    let milliseconds = asked?.milliseconds ?? week
    return Retention(milliseconds: milliseconds < 0 ? week : min(milliseconds, week))
  }
}
