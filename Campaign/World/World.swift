import EmbeddedStack
import Events
import FaultInjection
import Foundation
import Kafka
import Postgres
import Schema

/// The system under test: a broker, PostgreSQL, proxies, worker processes, and the load.
///
/// Confined to the campaign's main thread, except for its thread-safe parts.
final class World {
  let directory: URL
  /// Nil if `MAGPIE_KAFKA_BOOTSTRAP` is set.
  let broker: EmbeddedBroker?
  /// Direct access to the brokers, for the campaign and its load.
  let kafka: ClientConfiguration
  /// The workers' access to the brokers; nil if the brokers are not embedded.
  let kafkaProxy: KafkaProxy?
  let topicPrefix: String
  /// The disk of PostgreSQL's files; nil if none can be mounted.
  let disk: SmallDisk?
  /// The disk of the workers' logs; nil if none can be mounted.
  let logDisk: SmallDisk?
  let cluster: PrivateCluster
  /// All workers connect through it; the campaign itself does not.
  let proxy: PostgresProxy
  /// Of the workers and of the load's reminders.
  let clock: HourClock
  let load: Load
  /// Of pushes.
  let providers: Providers
  private(set) var workers: [WorkerProcess] = []
  private(set) var gateway: GatewayProcess?
  let injected = InjectedFaults()
  /// How often each group's coordinator and each topic's leaders have moved.
  private var coordinatorMoves: [ConsumerGroup: Int] = [:]
  private var leaderMoves: [Topic: Int] = [:]
  /// Exits of workers that no signal or fault explains.
  private(set) var unexpectedEnds: [String] = []

  private let plan: CampaignPlan
  let executables: URL
  private let say: (String) -> Void
  private var isStopped = false
  private var ticking: Repeated?
  /// An idle child whose watcher removes the directory when this process ends, however it ends.
  private let keeper: ChildProcess
  private var deadSince: [String: ContinuousClock.Instant] = [:]

  init(_ plan: CampaignPlan, note: @escaping (String) -> Void) throws {
    self.plan = plan
    say = note
    executables = try builtExecutables()
    directory = FileManager.default.temporaryDirectory.appending(
      path: "magpie-campaign-\(UUID().uuidString.prefix(8).lowercased())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    keeper = try ChildProcess(
      "/bin/sleep", ["1000000"], orphaned: .init(removing: [directory.path]))
    topicPrefix = "campaign-\(UUID().uuidString.prefix(8).lowercased())."
    if let bootstrap = ProcessInfo.processInfo.environment["MAGPIE_KAFKA_BOOTSTRAP"] {
      (broker, kafka, kafkaProxy) = (nil, ClientConfiguration(bootstrap: bootstrap), nil)
    } else {
      let embedded = try EmbeddedBroker(brokers: Self.brokers)
      (broker, kafka) = (embedded, embedded.configuration)
      kafkaProxy = try KafkaProxy(to: embedded.bootstrap)
    }
    // Durable, because committed transactions must survive a crash of the server.
    disk = SmallDisk.isPossible ? try SmallDisk(bytes: 640 << 20) : nil
    logDisk = SmallDisk.isPossible ? try SmallDisk(bytes: 256 << 20) : nil
    cluster = try PrivateCluster.start(
      directory: (disk?.path ?? directory.path) + "/postgres", durable: true,
      settings: Self.serverSettings)
    proxy = try PostgresProxy(to: cluster.url()) { .none }
    clock = HourClock(seconds: plan.seconds, directory: directory)
    providers = try Providers(clock: clock, directory: directory)
    load = Load(
      plan, clock: clock, hooks: providers.hooks, configuration: kafka, prefix: topicPrefix)
    do {
      try prepare()
    } catch {
      stop()
      throw error
    }
  }

  /// Few connections for workers, so that they can be exhausted, and reserved ones for the
  /// campaign; little WAL, so that it fits on a small disk.
  private static let serverSettings = [
    "max_connections": "70", "superuser_reserved_connections": "30", "shared_buffers": "64MB",
    "max_wal_size": "192MB", "min_wal_size": "64MB",
  ]

  /// The timeout of waits that measure nothing, after which a hang is assumed.
  static let hangLimitSeconds = 900.0

  /// The size of the embedded cluster, so that one broker can fail alone.
  static let brokers = 3

  /// The workers' role: not a superuser, so that reserved connections are unavailable to it.
  static let workersRole = "campaign_worker"

  /// The superuser's URL without the proxy, used by the campaign itself.
  var superuserURL: String { cluster.url() }

  /// Lanes per worker process.
  var lanes: Int { plan.lanes }

  func partitions(of topic: Topic) -> Int { plan.partitions(of: topic) }

  func worker(_ target: UInt32) -> WorkerProcess { workers[Int(target) % workers.count] }

  /// A connection that bypasses the proxy.
  func connection() throws -> Connection {
    try Connection(
      cluster.url(), applicationName: "magpie-campaign", statementTimeoutSeconds: 60)
  }

  /// Starts PostgreSQL if it is not running, and waits until it accepts connections.
  func startDatabase() throws {
    if cluster.processID == nil { try cluster.restart() }
    try connection().close()
  }

  /// Prints progress.
  func note(_ text: String) { say(text) }

  /// Starts the workers and waits until every partition is claimed.
  func startWorkers() throws {
    for group in ConsumerGroup.allCases {
      for number in 1...plan.processes { workers.append(WorkerProcess(group, number: number)) }
    }
    for worker in workers {
      worker.environment = try clock.environment(of: worker, executables: executables)
    }
    ticking = Repeated(everyMilliseconds: 200) { [clock, workers] in try clock.tick(workers) }
    for worker in workers { try start(worker) }
    gateway = try GatewayProcess(
      self, people: Round.followed, environment: environment(identity: "magpie-gateway"))
    try wait(seconds: Self.hangLimitSeconds, "every partition is claimed") {
      let owned = try connection().query("SELECT count(*) FROM consumer_offsets").only.int(0)
      return owned
        == ConsumerGroup.allCases.reduce(0) { total, group in
          total + group.topics.reduce(0) { $0 + plan.partitions(of: $1) }
        }
    }
  }

  /// Restarts ended workers after a moment, like a supervisor.
  func tend() throws {
    try gateway?.tend()
    for worker in workers where !worker.isRunning && !worker.isHeld {
      guard let since = deadSince[worker.name] else {
        deadSince[worker.name] = .now
        if let end = worker.unexpectedEnd(databaseLog: databaseLog) {
          unexpectedEnds.append(end)
          note("UNEXPECTED: \(end)")
        }
        continue
      }
      guard .now - since > .milliseconds(300) else { continue }
      deadSince[worker.name] = nil
      try start(worker)
    }
  }

  /// Starts a worker.
  func start(_ worker: WorkerProcess) throws {
    try worker.start(
      executables.appending(path: worker.group.executable).path,
      directory: logDisk.map { URL(filePath: $0.path) } ?? directory
    ) { identity in
      environment(identity: identity).merging([
        "MAGPIE_HTTP_PORT": "0", "MAGPIE_LANES": "\(plan.lanes)",
      ]) { $1 }.merging(Sabotage.environment) { $1 }.merging(providers.environment) { $1 }
    }
  }

  /// How a process reaches Kafka and PostgreSQL: through the proxies.
  private func environment(identity: String) -> [String: String?] {
    [
      "MAGPIE_KAFKA_BOOTSTRAP": kafkaProxy?.bootstrap ?? kafka.bootstrap,
      "MAGPIE_TOPIC_PREFIX": topicPrefix,
      "MAGPIE_KAFKA_PROPERTIES": kafkaProxy.map { _ in
        KafkaProxy.clientProperties.map { "\($0)=\($1)" }.joined(separator: ",")
      },
      "MAGPIE_DATABASE_URL": proxy.url(user: Self.workersRole)
        + " application_name=\(identity)",
    ]
  }

  /// Runs the `magpie` tool and returns its exit and output.
  func magpie(_ arguments: [String]) throws -> (exit: ChildProcess.Exit, output: String) {
    let file = directory.appending(path: "tool-\(UUID().uuidString).log").path
    defer { try? FileManager.default.removeItem(atPath: file) }
    let child = try ChildProcess(
      executables.appending(path: "magpie").path, arguments,
      environment: [
        "MAGPIE_KAFKA_BOOTSTRAP": kafka.bootstrap, "MAGPIE_TOPIC_PREFIX": topicPrefix,
        "MAGPIE_DATABASE_URL": cluster.url(),
      ], output: .file(file))
    guard let exit = child.wait(seconds: Self.hangLimitSeconds) else {
      child.terminate(9)
      throw CampaignError("magpie \(arguments.joined(separator: " ")) does not finish")
    }
    return (exit, try String(contentsOfFile: file, encoding: .utf8))
  }

  /// Stops the workers gracefully and returns a description of those that failed to.
  func stopWorkers() -> [String] {
    for worker in workers { worker.isHeld = true }
    for worker in workers where worker.isRunning {
      worker.signal(SIGCONT)
      worker.signal(SIGTERM)
    }
    return workers.compactMap { worker in
      guard let current = worker.current, current.ending == SIGTERM else { return nil }
      if let exit = current.child.wait(seconds: 30) {
        return exit == .exited(0)
          ? nil : "\(current.identity) ended with \(exit) on SIGTERM: \(current.end)"
      }
      current.child.terminate(SIGKILL)
      return "\(current.identity) did not end within 30 s of SIGTERM: \(current.end)"
    }
  }

  private var databaseLog: URL {
    URL(filePath: cluster.directory).appending(path: "postgres.log")
  }

  /// Copies the logs of the workers, the gateway and PostgreSQL.
  func copyLogs(to target: URL) throws {
    try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
    let folders = [directory] + (logDisk.map { [URL(filePath: $0.path)] } ?? [])
    let own = try folders.flatMap {
      try FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
    }
    for log in own.filter({ $0.pathExtension == "log" }) + [databaseLog] {
      let copy = target.appending(path: log.lastPathComponent)
      try? FileManager.default.removeItem(at: copy)
      try? FileManager.default.copyItem(at: log, to: copy)
    }
  }

  /// Stops and removes everything. May be called twice.
  func stop() {
    if isStopped { return }
    isStopped = true
    load.stop()
    ticking?.stop()
    for worker in workers { worker.current?.child.terminate(SIGKILL) }
    gateway?.stop()
    providers.stop()
    proxy.close()
    cluster.stop()
    disk?.close()
    logDisk?.close()
    kafkaProxy?.close()
    broker?.close()
    try? FileManager.default.removeItem(atPath: cluster.directory)
    keeper.terminate()
    try? FileManager.default.removeItem(at: directory)
  }

  /// Waits until the condition holds, restarting ended workers meanwhile. Errors count as false.
  func wait(seconds: Double, _ what: String, until condition: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    var problem: (any Error)?
    while true {
      do {
        if try condition() { return }
        problem = nil
      } catch {
        problem = error
      }
      try tend()
      guard .now < deadline else {
        throw CampaignError(
          "not reached within \(Int(seconds)) s: \(what)" + (problem.map { ": \($0)" } ?? ""))
      }
      Thread.sleep(forTimeInterval: 0.05)
    }
  }

  /// SQL that notes each transaction of a sweep, for `AuditCheck`.
  static let sweepNotes = """
    CREATE TABLE campaign_sweeps (swept_at timestamptz DEFAULT now());
    CREATE FUNCTION campaign_note_sweep() RETURNS trigger SECURITY DEFINER LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO public.campaign_sweeps DEFAULT VALUES;
      RETURN NULL;
    END
    $$;
    \(ConsumerGroup.allCases.map {
      """
      CREATE TRIGGER campaign_note_sweep AFTER UPDATE OR DELETE ON \($0)_erasures
        FOR EACH STATEMENT EXECUTE FUNCTION campaign_note_sweep();
      """
    }.joined(separator: "\n"))
    """

  private func prepare() throws {
    let connection = try connection()
    try Migrations.apply(connection)
    try connection.script(
      """
      SELECT audit_start();
      \(Self.sweepNotes)
      CREATE ROLE \(Self.workersRole) LOGIN
        IN ROLE magpie_fanout, magpie_notification, magpie_alarm, magpie_reminder, magpie_push,
        magpie_reader;
      CREATE ROLE \(ConnectionHog.role) LOGIN;
      -- Poison that decodes but is rejected by the database.
      ALTER TABLE messages ADD CONSTRAINT campaign_refuses
        CHECK (text NOT LIKE '\(Poison.refusedText)%');
      ALTER TABLE comments ADD CONSTRAINT campaign_refuses
        CHECK (text NOT LIKE '\(Poison.refusedText)%');
      """)
    try Sabotage.install(connection)
    connection.close()
    let topics = Topic.allCases.map { topic in
      NewTopic(
        name: topic.name(prefix: topicPrefix), partitions: plan.partitions(of: topic),
        replicationFactor: -1)
    }
    guard let broker else {
      // Use the cluster's default replication factor, because nodes may be killed.
      try Admin(configuration: kafka).createTopics(topics)
      return
    }
    for topic in topics { try broker.createTopic(topic.name, partitions: topic.partitions) }
    // The broker would choose by itself, and a move to where it already is would disturb nobody.
    for topic in Topic.allCases { try moveLeaders(of: topic, on: broker) }
    for group in ConsumerGroup.allCases { try moveCoordinator(of: group, on: broker) }
  }

  /// Moves a group's coordinator to another broker than the last move.
  func moveCoordinator(of group: ConsumerGroup, on broker: EmbeddedBroker) throws {
    let moves = coordinatorMoves[group, default: 0]
    coordinatorMoves[group] = moves + 1
    try broker.moveCoordinator(
      group: group.name(prefix: topicPrefix), to: 1 + moves % Self.brokers)
  }

  /// Moves each leader of a topic's partitions to another broker than the last move.
  func moveLeaders(of topic: Topic, on broker: EmbeddedBroker) throws {
    let moves = leaderMoves[topic, default: 0]
    leaderMoves[topic] = moves + 1
    for partition in 0..<partitions(of: topic) {
      try broker.moveLeader(
        TopicPartition(topic: topic.name(prefix: topicPrefix), partition: Int32(partition)),
        to: 1 + (moves + partition) % Self.brokers)
    }
  }
}

/// An error that prevents the campaign from continuing, or a timeout.
struct CampaignError: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) { self.description = description }
}

/// The directory of this executable and of the workers.
func builtExecutables() throws -> URL {
  let own = Bundle.main.executableURL?.resolvingSymlinksInPath().deletingLastPathComponent()
  guard let own,
    (ConsumerGroup.allCases.map(\.executable) + ["magpie", "magpie-gateway"]
      + (HourClock.isPossible ? [HourClock.library] : [])).allSatisfy({
        FileManager.default.isExecutableFile(atPath: own.appending(path: $0).path)
      })
  else {
    throw CampaignError("the workers and magpie are not built next to this program: run make build")
  }
  return own
}
