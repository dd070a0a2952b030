import ArgumentParser
import Events
import Kafka

/// What is to be done about the topics of one prefix, decided from what the cluster has.
struct TopicPlan: Equatable {
  /// Those that are missing, as they are to be made.
  var missing: [NewTopic]
  /// Those whose partition count is not that of most, with the count that they have.
  var unequal: [String: Int]
  /// The partition count of all others.
  var partitions: Int

  /// - Parameters:
  ///   - present: partition counts by full name.
  ///   - partitions: for new topics, if there are none yet; nil is 12. A topic that comes back gets as
  ///     many as its siblings have, since all of them are read as one set.
  ///   - replicationFactor: nil takes what fits the number of brokers.
  ///   - retention: nil leaves it to the cluster's own default.
  init(
    _ topics: [Topic], prefix: String, present: [String: Int], brokers: Int, partitions: Int?,
    replicationFactor: Int?, retention: Retention?
  ) {
    let names = topics.map { $0.name(prefix: prefix) }
    let counts = Dictionary(grouping: names.compactMap { present[$0] }, by: \.self)
    // Where two are as frequent the larger: a topic that was made by mistake mostly has one partition.
    let usual = counts.max { ($0.value.count, $0.key) < ($1.value.count, $1.key) }?.key
    let count = usual ?? partitions ?? 12
    self.partitions = count
    unequal = present.filter { names.contains($0.key) && $0.value != count }
    let factor = replicationFactor ?? Self.replicationFactor(brokers: brokers)
    missing = topics.filter { present[$0.name(prefix: prefix)] == nil }.map { topic in
      // notification-changes is keyed by the person, not by the notification: compaction would keep
      // one notification a person.
      var configuration = [
        "cleanup.policy": "delete",
        "min.insync.replicas": "\(Self.minInSyncReplicas(replicationFactor: factor))",
      ]
      if let retention {
        configuration["retention.ms"] = "\(retention.of(topic).milliseconds)"
      }
      return NewTopic(
        name: topic.name(prefix: prefix), partitions: count, replicationFactor: factor,
        configuration: configuration)
    }
  }

  /// Three copies where there are brokers for them: one may then be away for maintenance while
  /// another one fails, and nothing that was acknowledged is lost.
  static func replicationFactor(brokers: Int) -> Int { brokers >= 3 ? 3 : 1 }

  /// Producers ask for `acks=all`: two copies of what is acknowledged where there are three, so that one
  /// broker may be away.
  static func minInSyncReplicas(replicationFactor: Int) -> Int { replicationFactor >= 3 ? 2 : 1 }
}

/// How long a topic keeps its records.
struct Retention: Equatable, ExpressibleByArgument {
  /// -1 is for ever.
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

  /// A rebuild makes the notification changes again: a week is for the alarm worker's absence.
  func of(_ topic: Topic) -> Retention {
    guard topic == .notificationChanges else { return self }
    return Retention(milliseconds: milliseconds < 0 ? Self.week : min(milliseconds, Self.week))
  }
}
