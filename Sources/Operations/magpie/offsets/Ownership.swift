import Events
import Postgres

/// The partitions' owner epochs. Each claim increments one.
struct Ownership {
  private var epochs: [String: Int64]

  static func read(_ connection: Connection) throws -> Ownership {
    let rows = try connection.query(
      "SELECT consumer_group, topic, partition, owner_epoch FROM consumer_offsets")
    var epochs: [String: Int64] = [:]
    for row in rows {
      let name = name(try row.text(0), try row.text(1), try row.int(2))
      epochs[name] = try row.int8(3)
    }
    return Ownership(epochs: epochs)
  }

  /// Whether some consumed partition has not been claimed since `before`.
  func lacksSuccessors(of before: Ownership, topics: [String: Int], prefix: String) -> Bool {
    ConsumerGroup.required.contains { group in
      group.topics.contains { topic in
        let topic = topic.name(prefix: prefix)
        return (0..<(topics[topic] ?? 0)).contains { partition in
          let name = Self.name(group.name(prefix: prefix), topic, partition)
          return (epochs[name] ?? 0) <= (before.epochs[name] ?? 0)
        }
      }
    }
  }

  private static func name(_ group: String, _ topic: String, _ partition: Int) -> String {
    "\(group)/\(topic)/\(partition)"
  }
}
