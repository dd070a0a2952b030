import Events
import Kafka

/// All of Magpie's topics on one cluster: made if they are missing, checked if they are there.
struct TopicSet {
  var prefix: String
  /// Of all topics; nil keeps the count of those that are there, and is 12 where there are none.
  var partitions: Int?
  /// Nil takes what fits the number of brokers.
  var replicationFactor: Int?
  /// Of topics that are made now; nil leaves it to the cluster.
  var retention: Retention?

  struct Report: Encodable {
    var topic: String
    var partitions: Int
    var created: Bool
    /// Whether it has another partition count than most of the others.
    var unequal: Bool
    /// Of topics that are made, or would be.
    var replicationFactor: Int?
    var configuration: [String: String]?

    func print() {
      var state = unequal ? Style.red("not as many as the others") : "exists"
      if let replicationFactor, let configuration {
        let settings = configuration.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        state =
          (created ? Style.green("created") : "would be created")
          + "  \(replicationFactor) copies, \(settings.joined(separator: ", "))"
      }
      Standard.output.line("\(escapedForTerminal(topic))  \(partitions) partitions  \(state)")
    }
  }

  var names: [String] { Topic.allCases.map { $0.name(prefix: prefix) } }

  /// Makes those that are missing, or says how it would.
  ///
  /// - Throws: `Failure` when `partitions` is given and a topic has another number.
  func createOrCheck(_ admin: Admin, dryRun: Bool = false) throws -> [Report] {
    let present = try admin.topics(names)
    if let partitions { try refuseOtherCounts(present, partitions) }
    let plan = TopicPlan(
      Topic.allCases, prefix: prefix, present: present, brokers: try admin.brokerCount(),
      partitions: partitions, replicationFactor: replicationFactor, retention: retention)
    if !plan.missing.isEmpty, retention == nil {
      Standard.error.line(
        "magpie: new topics keep records for as long as the cluster's default says (seven days on a "
          + "stock one). Tables can be rebuilt only from records that are still there: give "
          + "--retention, set retention.ms, or archive the log (`magpie archive run`). "
          + "docs/operations/topics.md has more.")
    }
    let created = dryRun ? [] : try admin.createTopics(plan.missing)
    // Another process may have been faster.
    let now = created.count < plan.missing.count ? try admin.topics(names) : present
    return names.map { name in
      let new = plan.missing.first { $0.name == name && (created.contains(name) || dryRun) }
      return Report(
        topic: name, partitions: now[name] ?? plan.partitions, created: created.contains(name),
        unequal: plan.unequal[name] != nil, replicationFactor: new?.replicationFactor,
        configuration: new?.configuration)
    }
  }

  /// Prints the reports.
  ///
  /// - Throws: `Failure` when some have another number of partitions than the others.
  static func print(_ reports: [Report], json: Bool = false) throws {
    for report in reports { if json { printJSON(report) } else { report.print() } }
    let unequal = reports.filter(\.unequal)
    guard let usual = reports.first(where: { !$0.unequal }), !unequal.isEmpty else { return }
    let list = unequal.map { "\($0.topic) has \($0.partitions)" }.joined(separator: ", ")
    throw Failure(
      .found,
      """
      \(list) partitions, the others \(usual.partitions). It works, but a lane then has another \
      share of the people in each topic, and waits for other lanes' locks. A topic without records can \
      be deleted, and `magpie topics` makes it again with \(usual.partitions); for others see \
      docs/operations/partition-count-must-grow.md.
      """)
  }

  /// Makes all of them in the process that hosts the broker.
  func create(on broker: EmbeddedBroker, partitions: Int) throws {
    for name in names { try broker.createTopic(name, partitions: partitions) }
  }

  private func refuseOtherCounts(_ present: [String: Int], _ partitions: Int) throws {
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
