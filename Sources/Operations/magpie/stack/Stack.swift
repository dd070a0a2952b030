import EmbeddedStack
import Events
import Foundation
import Handling
import Kafka
import Lanes
import Notifications
import Postgres
import Schema

/// A running broker, database and workers: embedded ones, or those that the options name.
///
/// All processes that it started end with this process, even if it is killed.
final class Stack {
  let bootstrap: String
  let databaseURL: String
  let prefix: String
  let configuration: ClientConfiguration

  private let broker: EmbeddedBroker?
  private let cluster: PrivateCluster?
  private var workers: WorkerFleet?
  /// Failed restarts of the embedded PostgreSQL since the last successful one.
  private var failedRestarts = 0

  /// Starts everything except the workers.
  init(_ options: StackOptions) throws {
    prefix = options.kafka.prefix
    try makeDirectory(options.stateDir)
    if let url = try options.database.url(), let address = options.kafka.bootstrap {
      (broker, cluster, databaseURL, bootstrap) = (nil, nil, url, address)
      configuration = try options.kafka.configuration()
      try Self.migrate(url)
      let admin = try Admin(configuration: configuration)
      let present = try admin.topics(TopicSet(prefix: prefix).names)
      // Existing topics keep their count.
      let topics = TopicSet(
        prefix: prefix, partitions: present.isEmpty ? options.partitions : nil)
      _ = try topics.createOrCheck(admin)
      say("attached to Kafka at \(address) and PostgreSQL at \(try ConnectionInfo(url))")
      return
    }
    let cluster =
      if let directory = options.dataDir {
        try PrivateCluster.start(directory: directory, durable: true)
      } else {
        try PrivateCluster.temporary(in: options.stateDir)
      }
    self.cluster = cluster
    do {
      try cluster.createDatabase("magpie")
      databaseURL = cluster.url(database: "magpie")
      try Self.migrate(databaseURL)
      if options.dataDir != nil { try Self.forgetLostLog(databaseURL) }
      let broker = try EmbeddedBroker()
      try TopicSet(prefix: prefix).create(on: broker, partitions: options.partitions)
      self.broker = broker
      bootstrap = broker.bootstrap
      configuration = try options.kafka.configuration(bootstrap: broker.bootstrap)
      if options.dataDir != nil {
        try Self.publishLostChanges(databaseURL, configuration, prefix)
      }
    } catch {
      cluster.stop()
      throw error
    }
    let keeping = options.dataDir == nil ? "temporary data" : "data kept"
    say("PostgreSQL in \(cluster.directory) (\(keeping))")
    say(
      "embedded broker at \(bootstrap): \(Topic.allCases.count) topics of \(options.partitions) "
        + "partitions, in memory, at most 5 MiB a partition (the oldest records go first)")
  }

  /// Publishes the notifications whose changes were only in the memory of the previous broker.
  private static func publishLostChanges(
    _ url: String, _ configuration: ClientConfiguration, _ prefix: String
  ) throws {
    let connection = try Connection(url, applicationName: "magpie up")
    defer { connection.close() }
    let producer = EventProducer(configuration: configuration, topicPrefix: prefix)
    defer { producer.close() }
    var lost = PublishAgain()
    var count = 0
    while let events = try lost.next(on: connection) {
      try producer.send(events)
      count += events.count
    }
    if count > 0 { say("published \(count) notification(s) again whose alarms were not rendered") }
  }

  /// Starts the workers and waits until all partitions are claimed.
  ///
  /// - Parameter isLookedAt: whether operators' pages will look at them.
  func startWorkers(
    _ options: StackOptions, isLookedAt: Bool = false, isStopped: () -> Bool
  ) throws {
    guard options.workers > 0 else { return say("no workers") }
    let connection = try Connection(databaseURL, applicationName: "magpie up")
    let before = try Ownership.read(connection)
    let fleet = try WorkerFleet(
      processes: options.workers, lanes: options.lanes, logDirectory: options.stateDir + "/logs",
      environment: [
        "MAGPIE_KAFKA_BOOTSTRAP": bootstrap, "MAGPIE_DATABASE_URL": databaseURL,
        "MAGPIE_TOPIC_PREFIX": prefix,
        "MAGPIE_KAFKA_PROPERTIES": options.kafka.listed,
      ], isLookedAt: isLookedAt)
    workers = fleet
    let counts = try Admin(configuration: configuration)
      .topics(
        Topic.allCases.map { $0.name(prefix: prefix) },
        graceMilliseconds: Admin.newTopicGraceMilliseconds)
    let deadline = ContinuousClock.now + .seconds(90)
    while try Ownership.read(connection).lacksSuccessors(of: before, topics: counts, prefix: prefix)
    {
      try fleet.restartTheDead()
      if isStopped() { return }
      guard ContinuousClock.now < deadline else {
        throw Failure(
          .unavailable,
          "The workers were not assigned all partitions within 90 s. Their logs are in "
            + "\(fleet.logDirectory).")
      }
      Thread.sleep(forTimeInterval: 0.1)
    }
    say(
      "\(ConsumerGroup.required.count) workers, \(options.workers) process(es) each of "
        + "\(options.lanes) lane(s); logs in \(fleet.logDirectory)")
  }

  /// Sends the story's events and waits until they are applied, tending what runs.
  ///
  /// - Returns: how many events were acknowledged.
  func publish(
    _ story: Story, progress: inout Progress, isStopped: () -> Bool
  ) throws -> Int {
    let sender = try EventSender(configuration: configuration, prefix: prefix)
    for (index, event) in story.events.enumerated() { try sender.send(event, number: index + 1) }
    let outcome = sender.finish()
    if let failure = EventSender.failure(outcome) { throw failure }
    let connection = try Connection(databaseURL, applicationName: "magpie up")
    defer { connection.close() }
    try waitUntilApplied(
      connection, Admin(configuration: configuration), prefix: prefix, seconds: 120,
      progress: &progress
    ) {
      try tend()
      return isStopped()
    }
    return outcome.acknowledged
  }

  /// Starts a gateway and `magpie operate`, and waits until both serve their pages.
  func start(_ pages: StoryPages, isStopped: () -> Bool) throws {
    guard let fleet = workers else { throw Failure(.usage, "The pages need workers.") }
    try fleet.start("magpie-gateway", "magpie-gateway", adding: pages.environment)
    try fleet.start(
      "operate", "magpie", ["operate"],
      adding: pages.operatorEnvironment(processes: fleet.metricsSources))
    let deadline = ContinuousClock.now + .seconds(60)
    while !pages.isServed {
      try fleet.restartTheDead()
      if isStopped() { return }
      guard ContinuousClock.now < deadline else {
        throw Failure(
          .unavailable,
          "The pages are not served at \(pages.address) after 60 s. Their processes' logs are in "
            + "\(fleet.logDirectory).")
      }
      Thread.sleep(forTimeInterval: 0.1)
    }
  }

  /// Restarts PostgreSQL and workers that have exited; throws if one exits too often.
  func tend() throws {
    if let cluster, cluster.processID == nil { try restart(cluster) }
    try workers?.restartTheDead()
  }

  /// Restarts PostgreSQL. It may be killed again while it recovers, so this gives up only after several
  /// failures.
  private func restart(_ cluster: PrivateCluster) throws {
    say("PostgreSQL has died; starting it again")
    do {
      try cluster.restart()
      failedRestarts = 0
    } catch let error as StackError where failedRestarts < 4 {
      failedRestarts += 1
      say("\(error)")
      Thread.sleep(forTimeInterval: Double(failedRestarts))
    }
  }

  /// Stops the workers, then the database and the broker. May be called twice.
  func stop() {
    workers?.stop()
    workers = nil
    cluster?.stop()
    broker?.close()
  }

  /// The export lines for another shell.
  var exports: String {
    var text = "export MAGPIE_KAFKA_BOOTSTRAP=\(quoted(bootstrap))\n"
    // Do not print a URL with a password.
    if (try? ConnectionInfo(databaseURL)["password"]) == nil {
      text += "export MAGPIE_DATABASE_URL=\(quoted(databaseURL))\n"
    }
    if prefix != Topic.defaultPrefix { text += "export MAGPIE_TOPIC_PREFIX=\(quoted(prefix))\n" }
    return text
  }

  private func quoted(_ text: String) -> String {
    "'" + text.replacing("'", with: "'\\''") + "'"
  }

  private static func migrate(_ url: String) throws {
    let connection = try Connection(
      url, applicationName: "magpie up", statementTimeoutSeconds: 3600)
    let applied = try Migrations.apply(connection)
    if !applied.isEmpty { say("applied \(applied.count) migration(s)") }
  }

  /// The data was kept, but not the log: stored offsets and dead letters refer to the records of the
  /// previous broker, and the new one starts at offset 0.
  private static func forgetLostLog(_ url: String) throws {
    let connection = try Connection(url, applicationName: "magpie up")
    try connection.transaction {
      let offsets = try connection.query("DELETE FROM consumer_offsets").affectedRows
      let letters = try connection.query(
        """
        UPDATE dead_letters SET topic = \(goneTopic)
        WHERE topic = \(recordTopic)
        """
      ).affectedRows
      if offsets > 0 {
        say("the embedded broker begins with empty topics: removed \(offsets) stored offsets")
      }
      if letters > 0 {
        say("\(letters) dead letters of the log that is gone keep their topic's name plus @gone-…")
      }
    }
  }
}

/// Prints a message on standard error.
func say(_ text: String) { Console.error.line("magpie: \(escapedForDisplay(text))") }
