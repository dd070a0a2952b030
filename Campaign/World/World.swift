import EmbeddedStack
import Events
import FaultInjection
import Foundation
import Kafka
import Postgres
import Schema

/// What runs, and what faults act on: a broker, PostgreSQL, a proxy before it, worker processes, and
/// the load.
///
/// Used by the thread that drives the campaign; what other threads share is in parts that are
/// thread-safe.
final class World {
  let directory: URL
  /// Nil when `MAGPIE_KAFKA_BOOTSTRAP` names a broker.
  let broker: EmbeddedBroker?
  /// Reaches the brokers directly: the campaign itself and its load.
  let kafka: ClientConfiguration
  /// What the workers reach them through; nil when the brokers are somebody else's.
  let kafkaProxy: KafkaProxy?
  let topicPrefix: String
  /// What PostgreSQL's files are on; nil where none can be mounted.
  let disk: SmallDisk?
  /// What the workers' logs are on; nil where none can be mounted.
  let logDisk: SmallDisk?
  let cluster: PrivateCluster
  /// Every connection of the workers goes through it; those of the campaign itself do not.
  let proxy: PostgresProxy
  let load: Load
  private(set) var workers: [WorkerProcess] = []
  let injected = InjectedFaults()
  /// What workers did that nobody made them do.
  private(set) var unexpectedEnds: [String] = []

  private let plan: CampaignPlan
  let executables: URL
  private let say: (String) -> Void
  private var isStopped = false
  /// Does nothing but end with this process, whose directory is then removed, however it ended.
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
      "/bin/sleep", ["1000000"], orphaned: .init(removing: directory.path))
    topicPrefix = "campaign-\(UUID().uuidString.prefix(8).lowercased())."
    if let bootstrap = ProcessInfo.processInfo.environment["MAGPIE_KAFKA_BOOTSTRAP"] {
      (broker, kafka, kafkaProxy) = (nil, ClientConfiguration(bootstrap: bootstrap), nil)
    } else {
      let embedded = try EmbeddedBroker(brokers: Self.brokers)
      (broker, kafka) = (embedded, embedded.configuration)
      kafkaProxy = try KafkaProxy(to: embedded.bootstrap)
    }
    // Durable: a crash of the server must not lose what it said was committed.
    disk = SmallDisk.isPossible ? try SmallDisk(bytes: 640 << 20) : nil
    logDisk = SmallDisk.isPossible ? try SmallDisk(bytes: 256 << 20) : nil
    cluster = try PrivateCluster.start(
      directory: (disk?.path ?? directory.path) + "/postgres", durable: true,
      settings: Self.serverSettings)
    proxy = try PostgresProxy(to: cluster.url()) { .none }
    load = Load(plan, configuration: kafka, prefix: topicPrefix)
    do {
      try prepare()
    } catch {
      stop()
      throw error
    }
  }

  /// Few connections for workers, so that they can be exhausted, and always some for the campaign; a
  /// log that leaves room on a small disk.
  private static let serverSettings = [
    "max_connections": "70", "superuser_reserved_connections": "30", "shared_buffers": "64MB",
    "max_wal_size": "192MB", "min_wal_size": "64MB",
  ]

  /// After which something that is only waited for is taken to hang; it measures nothing.
  static let hangLimitSeconds = 900.0

  /// Of the embedded cluster, so that one of them can fail alone.
  static let brokers = 3

  /// What the workers log in as: nobody whom PostgreSQL keeps connections for.
  static let workersRole = "campaign_worker"

  /// The superuser, directly: what the campaign itself connects as.
  var superuserURL: String { cluster.url() }

  /// After which a member of a consumer group that says nothing is given up, as workers have it.
  let sessionTimeoutSeconds = 6.0

  /// Of each worker process.
  var lanes: Int { plan.lanes }

  func partitions(of topic: Topic) -> Int { plan.partitions(of: topic) }

  func worker(_ target: UInt32) -> WorkerProcess { workers[Int(target) % workers.count] }

  /// A connection that no fault of the proxy meets.
  func connection() throws -> Connection {
    try Connection(
      cluster.url(), applicationName: "magpie-campaign", statementTimeoutSeconds: 60)
  }

  /// Starts PostgreSQL if it does not run; returns once it answers.
  func startDatabase() throws {
    if cluster.processID == nil { try cluster.restart() }
    try connection().close()
  }

  /// Progress, for people.
  func note(_ text: String) { say(text) }

  /// Starts the workers and waits until every partition has its owner.
  func startWorkers() throws {
    for group in ConsumerGroup.allCases {
      for number in 1...plan.processes { workers.append(WorkerProcess(group, number: number)) }
    }
    for worker in workers { try start(worker) }
    try wait(seconds: Self.hangLimitSeconds, "every partition has its owner") {
      let owned = try connection().query("SELECT count(*) FROM consumer_offsets").only.int(0)
      return owned
        == ConsumerGroup.allCases.reduce(0) { total, group in
          total + group.topics.reduce(0) { $0 + plan.partitions(of: $1) }
        }
    }
  }

  /// Starts again what has ended, a moment later, as whatever supervises workers would.
  func tend() throws {
    for worker in workers where !worker.isRunning && !worker.isHeld {
      guard let since = deadSince[worker.name] else {
        deadSince[worker.name] = .now
        if let end = worker.unexpectedEnd {
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

  /// Starts a worker that is down, or starts one anew.
  func start(_ worker: WorkerProcess) throws {
    try worker.start(
      executables.appending(path: worker.group.executable).path,
      directory: logDisk.map { URL(filePath: $0.path) } ?? directory
    ) { identity in
      [
        "MAGPIE_HTTP_PORT": "0", "MAGPIE_LANES": "\(plan.lanes)",
        "MAGPIE_KAFKA_BOOTSTRAP": kafkaProxy?.bootstrap ?? kafka.bootstrap,
        "MAGPIE_TOPIC_PREFIX": topicPrefix,
        "MAGPIE_KAFKA_PROPERTIES": kafkaProxy.map { _ in
          KafkaProxy.clientProperties.map { "\($0)=\($1)" }.joined(separator: ",")
        },
        "MAGPIE_DATABASE_URL": proxy.url(user: Self.workersRole)
          + " application_name=\(identity)",
      ].merging(Sabotage.environment) { $1 }
    }
  }

  /// Runs the operator's tool to its end; returns its exit and what it printed.
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
      throw CampaignError("magpie \(arguments.joined(separator: " ")) does not end")
    }
    return (exit, try String(contentsOfFile: file, encoding: .utf8))
  }

  /// Ends the workers in good order; returns those that did not end so.
  func stopWorkers() -> [String] {
    for worker in workers { worker.isHeld = true }
    for worker in workers where worker.isRunning {
      worker.signal(SIGCONT)
      worker.signal(SIGTERM)
    }
    return workers.compactMap { worker in
      guard let child = worker.current?.child, worker.current?.ending == SIGTERM else { return nil }
      if let exit = child.wait(seconds: 30) {
        return exit == .exited(0) ? nil : "\(worker.name) ended with \(exit) on SIGTERM"
      }
      child.terminate(SIGKILL)
      return "\(worker.name) did not end within 30 s of SIGTERM"
    }
  }

  /// What the workers and PostgreSQL logged, for whoever looks for the cause.
  func copyLogs(to target: URL) throws {
    try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
    let own = try FileManager.default.contentsOfDirectory(
      at: logDisk.map { URL(filePath: $0.path) } ?? directory, includingPropertiesForKeys: nil)
    let server = URL(filePath: cluster.directory).appending(path: "postgres.log")
    for log in own.filter({ $0.pathExtension == "log" }) + [server] {
      let copy = target.appending(path: log.lastPathComponent)
      try? FileManager.default.removeItem(at: copy)
      try? FileManager.default.copyItem(at: log, to: copy)
    }
  }

  /// Ends and removes everything. May be called twice.
  func stop() {
    if isStopped { return }
    isStopped = true
    load.stop()
    for worker in workers { worker.current?.child.terminate(SIGKILL) }
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

  /// Waits, tending the workers, until the condition holds; what it throws counts as no.
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
          "after \(Int(seconds)) s it was not so that \(what)" + (problem.map { ": \($0)" } ?? ""))
      }
      Thread.sleep(forTimeInterval: 0.05)
    }
  }

  private func prepare() throws {
    let connection = try connection()
    try Migrations.apply(connection)
    try connection.script(
      """
      SELECT audit_start();
      CREATE ROLE \(Self.workersRole) LOGIN
        IN ROLE magpie_fanout, magpie_notification, magpie_alarm;
      CREATE ROLE \(Hog.role) LOGIN;
      -- What the database refuses is poison that no decoder sees.
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
      // With as many replicas as the cluster has by default: nodes may be killed.
      try Admin(configuration: kafka).createTopics(topics)
      return
    }
    for topic in topics { try broker.createTopic(topic.name, partitions: topic.partitions) }
  }
}

/// The campaign itself could not go on, or what it waited for did not come.
struct CampaignError: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) { self.description = description }
}

/// The directory of this executable, where the workers are.
func builtExecutables() throws -> URL {
  let own = Bundle.main.executableURL?.resolvingSymlinksInPath().deletingLastPathComponent()
  guard let own,
    (ConsumerGroup.allCases.map(\.executable) + ["magpie"]).allSatisfy({
      FileManager.default.isExecutableFile(atPath: own.appending(path: $0).path)
    })
  else {
    throw CampaignError("the workers and magpie are not built beside this program: make build")
  }
  return own
}
