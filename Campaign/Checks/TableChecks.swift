import Events
import Kafka
import Model
import Postgres
import RecordLog
import Verification
import Workload

/// Compares the tables, once everything is applied, with the log.
struct TableChecks {
  let world: World
  let log: LogContents
  let seed: UInt64

  func findings() throws -> [Finding] { try deadLetters() + invariants() + tables() + functions() }

  private func deadLetters() throws -> [Finding] {
    let connection = try world.connection()
    var found: Set<LogContents.Place> = []
    var findings: [Finding] = []
    for row in try connection.query(
      """
      SELECT d.consumer_group, d.topic, d.partition, d.record_offset,
        (SELECT count(*) FROM dead_letter_history h
          WHERE (h.consumer_group, h.topic, h.partition, h.record_offset)
            = (d.consumer_group, d.topic, d.partition, d.record_offset)
            -- An erasure may discard it at once, or later.
            AND (h.what = 'failed' OR h.entry = 1)) AS entries
      FROM dead_letters d
      """)
    {
      let partition = TopicPartition(topic: try row.text(1), partition: Int32(try row.int(2)))
      let place = LogContents.Place(
        group: try row.text(0), partition: partition, offset: try row.int8(3))
      found.insert(place)
      if try row.int(4) != 1 {
        findings.append(
          Finding(check: .deadLetters, text: "\(place) was dead-lettered \(try row.int(4)) times"))
      }
    }
    findings += log.poison.subtracting(found).sorted().prefix(5).map {
      Finding(check: .deadLetters, text: "\($0) is poison, but is not a dead letter")
    }
    findings += found.subtracting(log.poison).sorted().prefix(5).map {
      Finding(check: .deadLetters, text: "\($0) is a dead letter, but is not poison")
    }
    return findings
  }

  private func invariants() throws -> [Finding] {
    let connection = try world.connection()
    return try [
      "verify_feeds()", "verify_notifications()", "verify_subscriptions()", "verify_alarms()",
      // The workers' clocks are up to an hour ahead of the database's.
      "verify_reminders('-1 hour')",
    ].flatMap { check in
      try connection.query("SELECT v::text FROM \(check) v LIMIT 3").map {
        Finding(check: .tables, text: "\(check): \(try $0.text(0))")
      }
    }
  }

  /// Compares all tables row by row, in canonical form.
  private func tables() throws -> [Finding] {
    var report = try DeepVerification(
      world.connection(), later: { try world.connection() },
      log: KafkaLog(configuration: world.kafka), prefix: world.topicPrefix
    ).run()
    report = try PublishedAlarms(
      world.connection(), log: KafkaLog(configuration: world.kafka), prefix: world.topicPrefix
    ).run(report: report)
    return report.findings.map { Finding(check: .tables, text: $0) }
  }

  /// Compares what the backend's SQL functions return: all pages of everybody, or of some people whom
  /// the seed chooses.
  private func functions() throws -> [Finding] {
    let model = { (group: ConsumerGroup) in log.models[group] ?? Model() }
    let all = Model(
      feeds: model(.fanout), notifications: model(.notification), profiles: model(.alarm))
    var random = SplitMix64(seed: seed)
    let screens = ScreenComparison(
      model: all, connection: try world.connection(),
      people: Array(all.people.shuffled(using: &random).prefix(20)),
      posts: Array(all.home.map(\.id).shuffled(using: &random).prefix(20)),
      limit: Int.random(in: 5...40, using: &random))
    let differences =
      try ModelComparison(model: all, connection: world.connection()).differences()
      + screens.differences().prefix(10)
    return differences.map { Finding(check: .tables, text: $0) }
  }
}

extension ComparisonReport {
  fileprivate var findings: [String] {
    tables.filter { $0.counts.total > 0 }.flatMap { table in
      table.samples.prefix(3).map { sample in
        let columns = sample.columns.filter { $0.expected != $0.found }.prefix(4).map {
          "\($0.name) should be \($0.expected ?? "NULL") but is \($0.found ?? "NULL")"
        }
        return "\(table.name), \(table.counts.total) rows: \(sample.kind.rawValue) "
          + "\(sample.person) \(sample.key.joined(separator: " ")) \(columns.joined(separator: ", "))"
      }
    }
  }
}
