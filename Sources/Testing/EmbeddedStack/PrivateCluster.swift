import Foundation
import Postgres
import Synchronization

/// A private PostgreSQL server, reachable only through a Unix socket in its directory.
///
/// Runs as `postgres` or `nobody` if this process is root. Ends when this process ends, however it
/// ends. Thread-safe.
public final class PrivateCluster: Sendable {
  /// PostgreSQL's shutdown modes.
  public enum StopMode: Sendable {
    /// Ends the sessions, then shuts down cleanly.
    case fast
    /// Stops as in a crash: the next start recovers from the WAL.
    case immediate
  }

  /// The directory of `data/`, the socket and `postgres.log`. May differ from the requested one:
  /// see `start`.
  public let directory: String
  /// Whether committed transactions survive a crash of the machine.
  public let isDurable: Bool

  /// The superuser's name.
  public static let user = "magpie"

  /// Removes the variables of this process, and so of its children, with which libpq would refuse a private server,
  /// or that ask it for another one. A URL cannot override all of them.
  private static let removesVariables: Void = {
    for name in [
      "PGHOSTADDR", "PGSERVICE", "PGOPTIONS", "PGREQUIREAUTH", "PGSSLCERTMODE", "PGREQUIREPEER",
      "PGCHANNELBINDING",
      "PGGSSENCMODE", "PGSSLNEGOTIATION", "PGTARGETSESSIONATTRS", "PGMINPROTOCOLVERSION",
      "PGMAXPROTOCOLVERSION",
    ] { unsetenv(name) }
  }()

  private let layout: ClusterLayout
  private let settings: [String: String]
  private let server = Mutex<ChildProcess?>(nil)

  private init(_ layout: ClusterLayout, durable: Bool, settings: [String: String] = [:]) {
    self.layout = layout
    self.settings = settings
    directory = layout.directory
    isDurable = durable
  }

  /// Starts a server on `directory`, creating a cluster there if there is none.
  ///
  /// The first server that a process starts removes variables of libpq from its environment, such as PGSERVICE. So
  /// start it before other threads read the environment.
  ///
  /// If the account that PostgreSQL must run as cannot use `directory`, uses a directory under
  /// /var/tmp instead, whose name is derived from `directory`.
  ///
  /// - Parameters:
  ///   - durable: false trades durability for speed (no fsync), for tests and demonstrations.
  ///   - settings: server settings, such as `max_connections`, that extend and override the defaults.
  /// - Throws: `StackError`, also if another process already runs a server there.
  public static func start(
    directory: String, durable: Bool, settings: [String: String] = [:]
  ) throws -> PrivateCluster {
    let layout = try ClusterLayout.prepare(directory, temporary: false)
    let cluster = PrivateCluster(layout, durable: durable, settings: settings)
    try cluster.start()
    return cluster
  }

  /// Starts a server on a new directory, which is removed by `stop` or when this process ends.
  ///
  /// - Parameters:
  ///   - parent: the parent of that directory; nil for the system's temporary directory.
  ///   - durable: as in `start`, to measure what durability costs.
  ///   - settings: as in `start`.
  public static func temporary(
    in parent: String? = nil, durable: Bool = false, settings: [String: String] = [:]
  ) throws -> PrivateCluster {
    let parent = parent ?? FileManager.default.temporaryDirectory.path
    let path = parent + "/magpie-\(UUID().uuidString.prefix(13))"
    let layout = try ClusterLayout.prepare(path, temporary: true)
    let cluster = PrivateCluster(layout, durable: durable, settings: settings)
    do {
      try cluster.start()
    } catch {
      layout.removeIfTemporary()
      throw error
    }
    return cluster
  }

  /// Starts a streaming replica of this server with its settings, on a new directory.
  ///
  /// A cluster that is not durable needs `wal_level` = `replica` and `max_wal_senders` of at least 3 among its
  /// settings. Stop the replica before its server.
  ///
  /// - Throws: `StackError` if the cluster cannot be copied.
  public func startReplica(directory: String) throws -> PrivateCluster {
    let layout = try ClusterLayout.prepare(directory, temporary: false)
    try layout.copy(of: url(), durable: isDurable)
    let replica = PrivateCluster(layout, durable: isDurable, settings: settings)
    try replica.start()
    return replica
  }

  /// The superuser's URL for a database of this cluster. A shell's PGPORT does not change its meaning; its
  /// PGHOSTADDR does.
  public func url(database: String = "postgres") -> String {
    func encode(_ text: String) -> String {
      let plain = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "/-._"))
      return text.addingPercentEncoding(withAllowedCharacters: plain) ?? text
    }
    return "postgresql:///\(encode(database))?host=\(encode(layout.socketDirectory))"
      + "&port=\(settings["port"] ?? ClusterLayout.port)&user=\(Self.user)"
  }

  /// Creates a database if it does not exist.
  public func createDatabase(_ name: String) throws {
    let connection = try Connection(url(), applicationName: "magpie up")
    let exists = try connection.query(
      "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", [.text(name)])
    if try !exists.only.bool(0) {
      try connection.script("CREATE DATABASE \"\(name.replacing("\"", with: "\"\""))\"")
    }
  }

  /// The postmaster's process ID; nil if it is not running.
  public var processID: Int32? { server.withLock { $0?.isRunning == true ? $0?.processID : nil } }

  /// Stops the server and removes a temporary cluster's directory. May be called twice.
  public func stop(_ mode: StopMode = .fast) {
    end(mode)
    layout.removeIfTemporary()
  }

  /// Stops the server as in a crash and keeps its files; `restart` recovers.
  public func immediateStop() { end(.immediate) }

  /// Starts the server after `immediateStop`, or stops and restarts it.
  public func restart() throws {
    end(.fast)
    try start()
  }

  private func end(_ mode: StopMode) {
    server.withLock { server in
      server?.terminate(mode == .fast ? SIGINT : SIGQUIT, within: 30)
      server = nil
    }
  }

  private func start() throws {
    _ = Self.removesVariables
    try server.withLock { server in
      try layout.initializeIfNeeded(durable: isDurable)
      try layout.clearStaleLock()
      let child = try ChildProcess(
        layout.binaries.postgres, layout.serverArguments(durable: isDurable, settings),
        environment: ["LC_ALL": "C", "PGDATA": nil], user: layout.user,
        output: .file(layout.logFile),
        orphaned: .init(signal: SIGINT, removing: layout.temporaryDirectories))
      server = child
      do {
        try waitUntilReady(child)
      } catch {
        child.terminate(SIGQUIT, within: 10)
        server = nil
        throw error
      }
    }
  }

  private func waitUntilReady(_ child: ChildProcess) throws {
    // Crash recovery may take a while.
    let deadline = Date(timeIntervalSinceNow: 120)
    while true {
      do {
        try Connection(url(), applicationName: "magpie", connectTimeoutSeconds: 10).close()
        return
      } catch let error as PostgresError where error.code == .connection {
        if let exit = child.exit {
          throw StackError(
            "PostgreSQL did not start (\(exit)); the end of \(layout.logFile):\n\(layout.logTail())"
          )
        }
        if deadline < .now {
          throw StackError("PostgreSQL did not accept connections within two minutes: \(error)")
        }
        Thread.sleep(forTimeInterval: 0.02)
      }
    }
  }
}
