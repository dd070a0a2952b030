import EmbeddedStack
import Events
import Foundation
import Kafka
import Postgres
import Schema
import Synchronization
import TestSupport

/// A PostgreSQL that tests may crash, a broker, and workers as processes.
///
/// The servers are those in `MAGPIE_KAFKA_BOOTSTRAP` and `MAGPIE_TEST_DATABASE_URL`, or an embedded
/// broker and a private PostgreSQL. Each stack has its own topics and its own database.
final class Stack: Sendable {
  /// Nil if the server is external.
  let cluster: PrivateCluster?
  let databaseURL: String
  let prefix = TestBroker.topicPrefix()
  let directory: URL
  private let children = Mutex<[ChildProcess]>([])

  /// Additional environment variables of the workers, such as `MAGPIE_FEED_LENGTH`.
  private let settings: [String: String?]

  init(partitions: Int = 4, settings: [String: String?] = [:]) throws {
    self.settings = settings
    directory = URL(filePath: "/tmp/magpie-e2e-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    if TestDatabase.isExternal {
      cluster = nil
      databaseURL = try TestDatabase.empty()
    } else {
      // A crash must not lose commits.
      let cluster = try PrivateCluster.start(
        directory: directory.appending(path: "postgres").path, durable: true)
      self.cluster = cluster
      databaseURL = cluster.url()
    }
    let connection = try Connection(databaseURL, applicationName: "test")
    try Migrations.apply(connection)
    connection.close()
    try TestBroker.shared.createTopics(prefix: prefix, partitions: partitions)
  }

  /// Starts a worker process, such as `fanout-worker`; its log is `log(of:)`.
  ///
  /// - Parameter sabotage: SQL that the worker runs at the end of each batch, like a handler with a bug.
  @discardableResult
  func start(
    _ worker: String, lanes: Int = 1, arguments: [String] = [], sabotage: String? = nil
  ) throws -> ChildProcess {
    let number = children.withLock(\.count)
    var environment = try environment
    environment["MAGPIE_TEST_SABOTAGE"] = sabotage
    let child = try ChildProcess(
      builtExecutable(worker), ["--http-port", "0", "--lanes", "\(lanes)"] + arguments,
      environment: environment,
      output: .file(directory.appending(path: "\(number)-\(worker).log").path))
    children.withLock { $0.append(child) }
    return child
  }

  static let workers = ["fanout-worker", "notification-worker", "alarm-worker", "reminder-worker"]

  /// Stops the workers gracefully.
  func stopWorkers() {
    let running = children.withLock { $0 }.filter(\.isRunning)
    for child in running { child.signal(SIGTERM) }
    for child in running { child.terminate(within: hangLimitSeconds) }
  }

  /// Starts the tool; `logTails` includes its output.
  func startMagpie(_ arguments: String...) throws -> ChildProcess {
    let file = directory.appending(path: "magpie-\(UUID().uuidString).log").path
    let child = try ChildProcess(
      builtExecutable("magpie"), arguments, environment: environment, output: .file(file))
    children.withLock { $0.append(child) }
    return child
  }

  /// Runs the tool; returns its exit and its output.
  @discardableResult
  func magpie(_ arguments: String...) throws -> (exit: ChildProcess.Exit, output: String) {
    try magpie(arguments)
  }

  /// Starts the tool and discards its output.
  func child(_ arguments: String...) throws -> ChildProcess {
    let child = try ChildProcess(
      builtExecutable("magpie"), arguments, environment: environment,
      output: .file(directory.appending(path: "tool-\(UUID().uuidString)").path))
    children.withLock { $0.append(child) }
    return child
  }

  func magpie(_ arguments: [String]) throws -> (exit: ChildProcess.Exit, output: String) {
    let file = directory.appending(path: "tool-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: file) }
    let child = try ChildProcess(
      builtExecutable("magpie"), arguments, environment: environment, output: .file(file))
    // The tool itself may wait for `hangLimitSeconds`.
    guard let exit = child.wait(seconds: 2 * hangLimitSeconds) else {
      child.terminate(9)
      throw TimedOutTool(arguments: arguments)
    }
    return (exit, try String(contentsOfFile: file, encoding: .utf8))
  }

  /// Crashes and restarts PostgreSQL. On an external server, ends only the sessions in this database.
  func crashDatabase() throws {
    if let cluster {
      cluster.immediateStop()
      try cluster.restart()
    } else {
      try connection().query(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
        """)
    }
  }

  /// The logs of the workers with this name.
  func log(of worker: String) -> String {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
    return files.filter { $0.hasSuffix("-\(worker).log") }.map {
      (try? String(contentsOf: directory.appending(path: $0), encoding: .utf8)) ?? ""
    }.joined()
  }

  func connection() throws -> Connection { try Connection(databaseURL, applicationName: "test") }

  /// The ends of the logs, for failure messages.
  var logTails: String {
    let files =
      (try? FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil))
      ?? []
    return files.filter { $0.pathExtension == "log" }.map { file in
      let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
      return "\(file.lastPathComponent):\n"
        + text.split(separator: "\n").suffix(8).joined(separator: "\n")
    }.joined(separator: "\n")
  }

  func stop() {
    for child in children.withLock({ $0 }) where child.isRunning { child.signal(SIGTERM) }
    for child in children.withLock({ $0 }) { child.terminate(within: 30) }
    cluster?.stop()
    try? FileManager.default.removeItem(at: directory)
  }

  /// The environment of the workers and tools.
  var environment: [String: String?] {
    get throws {
      [
        "MAGPIE_KAFKA_BOOTSTRAP": try TestBroker.shared.bootstrap,
        "MAGPIE_DATABASE_URL": databaseURL,
        "MAGPIE_TOPIC_PREFIX": prefix,
      ].merging(settings) { $1 }
    }
  }
}

struct TimedOutTool: Error {
  var arguments: [String]
}
