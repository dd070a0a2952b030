import Events
import Foundation
import Handling
import Kafka
import Lanes
import Postgres

/// `magpie replay --apply`: applies records to the live tables again, with the workers' handlers.
extension Replay {
  private struct AppliedAgain: Encodable {
    var applied = 0
    var deadLetters = 0
    var pausedSeconds = 0.0
  }

  func applyAgain() throws {
    let handlers = try self.handlers.handlers(isPublishing: true).all.filter {
      again.workers.isEmpty || again.workers.contains($0.name)
    }
    if handlers.contains(where: { $0.name == ConsumerGroup.reminder.rawValue }) {
      self.handlers.warnOfMissingSecret()
    }
    let topics = Topic.allCases.filter { topic in handlers.contains { $0.topics.contains(topic) } }
    let configuration = try kafka.configuration()
    var selection = try ReplaySelection(
      filter, of: topics, in: logOpener()(), prefix: kafka.prefix)
    var position = try ReplayPosition(
      path: again.position,
      of: "apply \(kafka.prefix) by \(handlers.map(\.name).joined(separator: ",")): "
        + filter.description)
    var shown = Progress(forced: progress)
    if dryRun {
      return try ReplaySummary(selection, after: position, rate: again.rate, progress: &shown)
        .print(json: json, doing: "applied again")
    }
    try position.resume(&selection)
    let producer = EventProducer(configuration: configuration, topicPrefix: kafka.prefix)
    let breaker = try again.breaker()
    let appliers = handlers.map { applier($0, producer, breaker) }
    defer {
      for (_, applier) in appliers { applier.close() }
      producer.close()
    }
    var live = try LiveLag(Admin(configuration: configuration), kafka.prefix) {
      [database] in try database.connect()
    }
    var pace = Pace(perSecond: again.rate)
    var done = AppliedAgain()
    // Even if it fails half-way.
    defer {
      shown.clear()
      report(done)
    }
    var read: Int64 = 0
    try selection.log.read(selection.spans, maxRecords: pace.portion(of: 1000)) { batch in
      done.pausedSeconds += try live.wait(atMost: again.maxLag ?? 10_000) { shown.show($0) }
      let records = try position.undone(batch.records).filter(selection.includes)
      for (handler, applier) in appliers {
        guard let topic = Topic(name: batch.topic, prefix: kafka.prefix),
          handler.topics.contains(topic), !records.isEmpty
        else { continue }
        done.deadLetters += try applier.apply(records).deadLetters
      }
      done.applied += records.count
      try position.advance(past: batch)
      read += Int64(batch.records.count)
      shown.show("\(read) of \(selection.offsetCount) read, \(done.applied) applied again")
      pace.wait(for: records.count)
    }
    try position.write()
  }

  /// Applies without the fence, so that the workers keep their partitions. The newest version of each fact
  /// wins, as it does between any two events.
  private func applier(_ handler: Handler, _ producer: EventProducer, _ breaker: CircuitBreaker)
    -> (Handler, RecordApplier)
  {
    let applier = RecordApplier(
      handler: handler, consumerGroup: kafka.prefix + handler.name, topicPrefix: kafka.prefix,
      isFenced: false, breaker: breaker, open: { [database] in try database.connect(as: handler) },
      deliver: { events, _ in try producer.send(events) })
    return (handler, applier)
  }

  private func report(_ done: AppliedAgain) {
    if json { return printJSON(done) }
    var text = "\(done.applied) applied again"
    if done.deadLetters > 0 { text += ", \(done.deadLetters) of them are dead letters" }
    if done.pausedSeconds >= 1 { text += "; waited \(Int(done.pausedSeconds)) s for the workers" }
    Console.output.line(text)
  }
}

/// The lag of the running workers, measured once a second. Workers that are not running are ignored,
/// because a replay does not delay them.
private struct LiveLag {
  /// The time within which the lag must fall.
  private static let patience = Duration.seconds(60)
  /// How long PostgreSQL, Kafka or a leader may be away, as when records are applied.
  private static let patienceWhileAway = Duration.seconds(300)

  private let admin: Admin
  private let prefix: String
  private let open: () throws -> Connection
  /// Nil after an error.
  private var connection: Connection?
  private var nextLook = ContinuousClock.now
  private var groupsDown: Set<String> = []

  init(_ admin: Admin, _ prefix: String, open: @escaping () throws -> Connection) throws {
    (self.admin, self.prefix, self.open) = (admin, prefix, open)
    connection = try open()
  }

  /// Waits until the lag is at most `bound`; returns the seconds waited.
  ///
  /// - Throws: `Failure` if the lag does not fall for a minute, or is unknown for five.
  mutating func wait(atMost bound: Int64, note: (String) -> Void) throws -> Double {
    guard .now >= nextLook else { return 0 }
    let start = ContinuousClock.now
    var lowest = (lag: Int64.max, at: start)
    var known = start
    while true {
      let (lags, trouble) = try look()
      nextLook = .now + .seconds(1)
      if let trouble {
        guard .now - known < Self.patienceWhileAway else {
          throw Failure(
            .unavailable,
            "For five minutes it has been unknown how far the workers are behind: \(trouble)")
        }
        // The sum of the others says nothing about whether the lag falls.
        lowest = (.max, .now)
        note("how far the workers are behind is unknown: \(trouble.prefix { $0 != "\n" })")
      } else {
        known = .now
        let lag = lags.values.reduce(0, +)
        guard lag > bound else { return (.now - start) / .seconds(1) }
        if lag < lowest.lag { lowest = (lag, .now) }
        let behind = lags.filter { $0.value > 0 }.sorted { $0.key < $1.key }
          .map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        guard .now - lowest.at < Self.patience else {
          throw Failure(
            .unavailable,
            "The running workers have \(lag) records to apply (\(behind)), no fewer than a minute "
              + "ago. Check /readyz and the logs of these workers, or do not wait for them: --max-lag "
              + "\(lag)")
        }
        note("waiting for the workers: they have \(lag) records to apply (\(behind))")
      }
      Thread.sleep(forTimeInterval: 0.5)
    }
  }

  /// The lag by group, and why it is not known as a whole.
  private mutating func look() throws -> (lags: [String: Int64], trouble: String?) {
    do {
      let connection = try self.connection ?? open()
      self.connection = connection
      return try runningLags(connection)
    } catch let error as KafkaError where error.isRetriable {
      return ([:], Failure(error).message)
    } catch let error as PostgresError where error.code == .connection {
      connection?.close()
      connection = nil
      return ([:], Failure(error).message)
    }
  }

  /// A group without a session in the database is not running, which is reported once.
  private mutating func runningLags(_ connection: Connection) throws
    -> (lags: [String: Int64], trouble: String?)
  {
    var lags: [String: Int64] = [:]
    let report = try LagReport.measure(connection, admin, prefix: prefix)
    for partition in report.partitions {
      lags[partition.group, default: 0] += partition.lag ?? 0
    }
    let running = Set(
      try connection.query(
        """
        SELECT DISTINCT application_name FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = ANY ($1)
        """, [.textArray(lags.keys.sorted())]
      ).map { try $0.text(0) })
    let down = lags.filter { !running.contains($0.key) && $0.value > 0 }
    for (group, lag) in down.sorted(by: { $0.key < $1.key })
    where groupsDown.insert(group).inserted {
      Console.error.line(
        "magpie: no worker of \(group) is running; not waiting for its \(lag) records")
    }
    let trouble = report.unanswered.first.map {
      "the leaders of \(report.unanswered.count) partitions do not answer, such as that of \($0)"
    }
    return (lags.filter { running.contains($0.key) }, trouble)
  }
}
