import Events
import Kafka

/// All of Magpie's topics on one cluster: made if they are missing, checked if they are there.
struct TopicSet {
  var prefix: String
  /// For topics that are made now; nil accepts whatever is there.
  var partitions: Int
  /// -1 is the broker's own default.
  var replicationFactor: Int

  struct Report: Encodable {
    var topic: String
    var partitions: Int
    var created: Bool

    func print() {
      let state = created ? Style.green("created") : "exists"
      Standard.output.line("\(escapedForTerminal(topic))  \(partitions) partitions  \(state)")
    }
  }

  var names: [String] { Topic.allCases.map { $0.name(prefix: prefix) } }

  /// - Parameter exact: whether a topic that has another number of partitions is an error.
  func createOrCheck(_ admin: Admin, exact: Bool) throws -> [Report] {
    let present = try admin.topics(names)
    if exact { try refuseOtherCounts(present) }
    let missing = Topic.allCases.filter { present[$0.name(prefix: prefix)] == nil }
    let created = try admin.createTopics(missing.map(newTopic))
    // Another process may have been faster.
    let now = created.isEmpty ? try admin.topics(names) : present
    return names.map { name in
      Report(
        topic: name, partitions: now[name] ?? partitions, created: created.contains(name))
    }
  }

  /// Makes all of them in the process that hosts the broker.
  func create(on broker: EmbeddedBroker) throws {
    for name in names { try broker.createTopic(name, partitions: partitions) }
  }

  private func newTopic(_ topic: Topic) -> NewTopic {
    // notification-changes is keyed by the person, not by the notification: compaction would keep
    // one notification a person.
    NewTopic(
      name: topic.name(prefix: prefix), partitions: partitions,
      replicationFactor: replicationFactor, configuration: ["cleanup.policy": "delete"])
  }

  private func refuseOtherCounts(_ present: [String: Int]) throws {
    let others = names.filter { (present[$0] ?? partitions) != partitions }
    guard !others.isEmpty else { return }
    let list = others.map { "\($0) has \(present[$0] ?? 0)" }.joined(separator: ", ")
    throw Failure(
      .found,
      """
      \(list) partitions, not \(partitions). A topic's partition count is not changed: a key's \
      partition is its hash modulo the count, so one person's events would continue on another \
      partition while older ones still wait on the first, and their order would be lost. Keep the \
      count (--partitions \(present[others[0]] ?? 0)), or make a new set of topics under another \
      --topic-prefix, stop the producers, let `magpie lag` reach 0, and switch both over.
      """)
  }
}
