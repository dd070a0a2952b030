import Events
import Kafka

/// Magpie's topics in a cluster: creates the missing ones and checks the others.
struct TopicSet {
  var prefix: String
  /// The partition count of all topics; nil is that of the existing ones, or 12 without any.
  var partitions: Int?
  /// Nil fits the number of brokers.
  var replicationFactor: Int?
  /// Of new topics; nil is the cluster's default.
  var retention: Retention?

  struct Report: Encodable {
    var topic: String
    var partitions: Int
    var created: Bool
    /// Whether its partition count differs from the most frequent one.
    var unequal: Bool
    /// Only for topics that are or would be created.
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
      Console.output.line("\(escapedForDisplay(topic))  \(partitions) partitions  \(state)")
    }
  }

  var names: [String] { Topic.allCases.map { $0.name(prefix: prefix) } }

  /// Creates the missing topics, or reports what it would create.
  ///
  /// - Throws: `Failure` if `partitions` is set and a topic has a different count.
  func createOrCheck(_ admin: Admin, dryRun: Bool = false) throws -> [Report] {
    let present = try admin.topics(names)
    if let partitions { try refuseOtherCounts(present, partitions) }
    let plan = TopicPlan(
      Topic.allCases, prefix: prefix, present: present, brokers: try admin.brokerCount(),
      partitions: partitions, replicationFactor: replicationFactor, retention: retention)
    if !plan.missing.isEmpty, retention == nil {
      Console.error.line(
        "magpie: new topics of events have the cluster's default retention (seven days unless it was changed). "
          + "Tables can be rebuilt only from records that are still in the log: pass "
          + "--retention, set retention.ms, or archive the log (`magpie archive run`). "
          + "If people may ask to be forgotten: at most 27d, and an archive. See docs/operations/topics.md."
      )
    }
    let created = dryRun ? [] : try admin.createTopics(plan.missing)
    // Another process may have created them meanwhile.
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
  /// - Throws: `Failure` if the partition counts differ.
  static func print(_ reports: [Report], json: Bool = false) throws {
    for report in reports { if json { printJSON(report) } else { report.print() } }
    let unequal = reports.filter(\.unequal)
    guard let usual = reports.first(where: { !$0.unequal }), !unequal.isEmpty else { return }
    let list = unequal.map { "\($0.topic) has \($0.partitions)" }.joined(separator: ", ")
    throw Failure(
      .found,
      """
      \(list) partitions, the others \(usual.partitions). The workers run with unequal counts, but a \
      lane then has different people in each topic and waits for the locks of other lanes. Delete a \
      topic without records and run `magpie topics` to create it with \(usual.partitions); for others see \
      docs/operations/partition-count-must-grow.md.
      """)
  }

  /// Creates all topics in an embedded broker.
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
      \(list) partitions, not \(partitions). Partition counts are never changed: a key's \
      partition is its hash modulo the count, so a person's new events would go to another partition \
      while older ones are not yet applied, and two lanes would wait for each other's locks. Keep the count \
      (--partitions \(present[others[0]] ?? 0)), or create a second set of topics with another \
      --topic-prefix: docs/operations/partition-count-must-grow.md says how to move to it.
      """)
  }
}
