import Foundation
import Postgres
import Synchronization

/// A PostgreSQL server of our own, reachable only through a Unix socket in its directory.
///
/// Runs as `postgres` or `nobody` when this process is root. Ends with this process, however that
/// ends. Thread-safe.
public final class PrivateCluster: Sendable {
  /// How to stop, in PostgreSQL's words.
  public enum StopMode: Sendable {
    /// Ends the sessions, then shuts down cleanly.
    case fast
    /// As in a crash: the next start recovers from the log.
    case immediate
  }

  /// Where everything lies: `data/`, the socket, `postgres.log`. Not necessarily the directory asked
  /// for: see `start`.
  public let directory: String
  /// Whether what was committed survives a crash of the machine.
  public let isDurable: Bool

  /// The superuser.
  public static let user = "magpie"

  private let layout: ClusterLayout
  private let settings: [String: String]
  private let server = Mutex<ChildProcess?>(nil)

  private init(_ layout: ClusterLayout, durable: Bool, settings: [String: String] = [:]) {
    self.layout = layout
    self.settings = settings
    directory = layout.directory
    isDurable = durable
  }

  /// Starts a server on `directory`, making a new cluster there if there is none.
  ///
  /// If the account that PostgreSQL must run as cannot use `directory`, a directory under /var/tmp
  /// whose name is derived from it takes its place, the same one every time.
  ///
  /// - Parameters:
  ///   - durable: false trades safety for speed (no fsync): for tests and demonstrations.
  ///   - settings: of the server, such as `max_connections`, beyond and instead of ours.
  /// - Throws: `StackError`, also when another process runs a server there.
  public static func start(
    directory: String, durable: Bool, settings: [String: String] = [:]
  ) throws -> PrivateCluster {
    let layout = try ClusterLayout.prepare(directory, temporary: false)
    let cluster = PrivateCluster(layout, durable: durable, settings: settings)
    try cluster.start()
    return cluster
  }

  /// Starts a server without durability on a new directory, which is removed by `stop` or when this
  /// process ends.
  ///
  /// - Parameters:
  ///   - parent: where that directory is made; nil is the system's place for such things.
  ///   - settings: as of `start`.
  public static func temporary(
    in parent: String? = nil, settings: [String: String] = [:]
  ) throws -> PrivateCluster {
    let parent = parent ?? FileManager.default.temporaryDirectory.path
    let path = parent + "/magpie-\(UUID().uuidString.prefix(13))"
    let layout = try ClusterLayout.prepare(path, temporary: true)
    let cluster = PrivateCluster(layout, durable: false, settings: settings)
    do {
      try cluster.start()
    } catch {
      layout.remove()
      throw error
    }
    return cluster
  }

  /// The URL of a database of this cluster, for the superuser.
  public func url(database: String = "postgres") -> String {
    func encode(_ text: String) -> String {
      let plain = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "/-._"))
      return text.addingPercentEncoding(withAllowedCharacters: plain) ?? text
    }
    return "postgresql:///\(encode(database))?host=\(encode(layout.socketDirectory))"
      + "&user=\(Self.user)" + (settings["port"].map { "&port=\($0)" } ?? "")
  }

  /// Creates a database unless it exists.
  public func createDatabase(_ name: String) throws {
    let connection = try Connection(url(), applicationName: "magpie up")
    let exists = try connection.query(
      "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", [.text(name)])
    if try !exists.only.bool(0) {
      try connection.script("CREATE DATABASE \"\(name.replacing("\"", with: "\"\""))\"")
    }
  }

  /// The postmaster's process id while it runs.
  public var processID: Int32? { server.withLock { $0?.isRunning == true ? $0?.processID : nil } }

  /// Stops the server; a temporary cluster's directory is removed. May be called twice.
  public func stop(_ mode: StopMode = .fast) {
    end(mode)
    layout.removeIfTemporary()
  }

  /// Stops the server as a crash would, keeping its files; `restart` recovers.
  public func immediateStop() { end(.immediate) }

  /// Starts the server again after `immediateStop`, or stops and starts it.
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
    try server.withLock { server in
      try layout.initializeIfNeeded(durable: isDurable)
      try layout.clearStaleLock()
      let child = try ChildProcess(
        layout.binaries.postgres, layout.serverArguments(durable: isDurable, settings),
        environment: ["LC_ALL": "C", "PGOPTIONS": nil, "PGDATA": nil], user: layout.user,
        output: .file(layout.logFile),
        orphaned: .init(signal: SIGINT, removing: layout.isTemporary ? directory : nil))
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
    // Recovery after a crash can take a while.
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
          throw StackError("PostgreSQL did not answer within two minutes: \(error)")
        }
        Thread.sleep(forTimeInterval: 0.02)
      }
    }
  }
}
