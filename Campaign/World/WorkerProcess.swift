import EmbeddedStack
import Events
import Foundation
import Synchronization

/// A worker process that is restarted each time it ends.
///
/// The campaign's main thread starts and signals it; other threads may read its state. Thread-safe.
final class WorkerProcess: Sendable {
  /// One run of the process.
  struct Incarnation: Sendable {
    /// Such as `fanout-worker-1.3` for the third run; the application_name of its sessions.
    var identity: String
    var child: ChildProcess
    var log: String
    var startedAt: ContinuousClock.Instant
    var isSuspended = false
    /// Whether a fault makes it exit by itself, which is then not a violation.
    var mayEnd = false
    /// The last terminating signal sent.
    var ending: Int32?
    /// Whether SIGTERM was ever sent.
    var gotSIGTERM = false

    /// Whether its health endpoint is up.
    var isListening: Bool { WorkerMetrics.port(inLog: log) != nil }

    /// The cause of a crash, which is printed before a long backtrace, or the last lines of the log.
    var end: String {
      let lines = ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").split(separator: "\n")
      let cause = lines.firstIndex { $0.contains("Fatal error") || $0.contains("crashed") }
      let shown = cause.map { lines[$0...].prefix(20) } ?? lines.suffix(8)
      return shown.joined(separator: " / ")
    }
  }

  private struct State {
    var current: Incarnation?
    var count = 0
    var environment: [String: String?] = [:]
    var wrapper: [String] = []
    var isHeld = false
    var expectsEnds = false
  }

  let group: ConsumerGroup
  let number: Int
  private let state = Mutex(State())

  init(_ group: ConsumerGroup, number: Int) { (self.group, self.number) = (group, number) }

  /// Such as `fanout-worker-1`.
  var name: String { "\(group.executable)-\(number)" }
  var current: Incarnation? { state.withLock { $0.current } }
  var isRunning: Bool { current?.child.isRunning ?? false }
  var processID: Int32? { current.flatMap { $0.child.isRunning ? $0.child.processID : nil } }

  /// Overrides the world's environment from the next start on.
  var environment: [String: String?] {
    get { state.withLock { $0.environment } }
    set { state.withLock { $0.environment = newValue } }
  }

  /// A command that runs the worker, such as `["prlimit", "--nofile=40"]`, from the next start on.
  var wrapper: [String] {
    get { state.withLock { $0.wrapper } }
    set { state.withLock { $0.wrapper = newValue } }
  }

  /// Whether it stays down after it ends.
  var isHeld: Bool {
    get { state.withLock { $0.isHeld } }
    set { state.withLock { $0.isHeld = newValue } }
  }

  /// Whether runs started from now on may exit by themselves.
  var expectsEnds: Bool {
    get { state.withLock { $0.expectsEnds } }
    set { state.withLock { $0.expectsEnds = newValue } }
  }

  /// Lets the current run exit by itself, because a fault causes it.
  func expectEnd() { state.withLock { $0.current?.mayEnd = true } }

  /// - Parameters:
  ///   - path: the worker's executable.
  ///   - environment: every worker's environment, given the identity of the run.
  func start(
    _ path: String, directory: URL, environment: (String) -> [String: String?]
  ) throws {
    try state.withLock { state in
      state.count += 1
      let identity = "\(name).\(state.count)"
      let log = directory.appending(path: "\(identity).log").path
      let command = state.wrapper + [path]
      let child = try ChildProcess(
        Self.resolved(command[0]), Array(command.dropFirst()),
        environment: environment(identity).merging(state.environment) { $1 }, output: .file(log))
      state.current = Incarnation(
        identity: identity, child: child, log: log, startedAt: .now, mayEnd: state.expectsEnds)
    }
  }

  /// Sends a signal and records its effect.
  func signal(_ number: Int32) {
    state.withLock { state in
      switch number {
      case SIGSTOP: state.current?.isSuspended = true
      case SIGCONT: state.current?.isSuspended = false
      default:
        state.current?.ending = number
        if number == SIGTERM { state.current?.gotSIGTERM = true }
      }
      state.current?.child.signal(number)
    }
  }

  /// Describes an exit that no signal or fault explains; nil otherwise.
  ///
  /// - Parameter databaseLog: the file in which PostgreSQL logs the errors of the worker's sessions. The
  ///   disk with the worker's own log may be full.
  func unexpectedEnd(databaseLog: URL) -> String? {
    guard let current, let exit = current.child.exit, !current.mayEnd else { return nil }
    switch (exit, current.ending) {
    case (.signalled(SIGKILL), SIGKILL?), (.exited(0), SIGTERM?): return nil
    // It could not finish in time; the fence protects the rest.
    case (.exited(1), SIGTERM?): return nil
    // It had not installed its signal handler yet.
    case (.signalled(SIGTERM), _?): return nil
    // It exited on an earlier SIGTERM before the SIGKILL arrived.
    case (.exited(0), SIGKILL?) where current.gotSIGTERM: return nil
    // A SIGKILL overtook a SIGTERM.
    case (.signalled(SIGKILL), _?): return nil
    default:
      let sabotage = "\(current.identity) ERROR:  \(Sabotage.stoppingMessage)"
      if let log = try? String(contentsOf: databaseLog, encoding: .utf8), log.contains(sabotage) {
        return nil
      }
      return "\(current.identity) ended with \(exit): \(current.end)"
    }
  }

  private static func resolved(_ command: String) -> String {
    if command.contains("/") { return command }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return path.split(separator: ":").map { "\($0)/\(command)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) } ?? command
  }
}
