import EmbeddedStack
import Events
import Foundation
import Synchronization

/// One worker process, started again each time that it ends.
///
/// The thread that drives the campaign starts and signals it; others may ask what it is. Thread-safe.
final class WorkerProcess: Sendable {
  /// Said of one start of it.
  struct Incarnation: Sendable {
    /// Such as `fanout-worker-1.3`: its third process. Its sessions' application_name.
    var identity: String
    var child: ChildProcess
    var log: String
    var startedAt: ContinuousClock.Instant
    var isSuspended = false
    /// Whether that it ends by itself is what a fault is about, rather than a finding.
    var mayEnd = false
    /// What was sent last that ends it.
    var ending: Int32?
    /// Whether it was asked in good order at some time.
    var wasToldToEnd = false

    /// Whether it has come as far as having its health endpoint.
    var isListening: Bool { WorkerMetrics.port(inLog: log) != nil }
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

  /// Over what the world sets; from the next start on.
  var environment: [String: String?] {
    get { state.withLock { $0.environment } }
    set { state.withLock { $0.environment = newValue } }
  }

  /// A command that runs the worker, such as `["prlimit", "--nofile=40"]`; from the next start on.
  var wrapper: [String] {
    get { state.withLock { $0.wrapper } }
    set { state.withLock { $0.wrapper = newValue } }
  }

  /// Whether it stays down once it is.
  var isHeld: Bool {
    get { state.withLock { $0.isHeld } }
    set { state.withLock { $0.isHeld = newValue } }
  }

  /// Whether those that are started from now on may end by themselves.
  var expectsEnds: Bool {
    get { state.withLock { $0.expectsEnds } }
    set { state.withLock { $0.expectsEnds = newValue } }
  }

  /// The process that runs now may end by itself: that is what a fault is about.
  func expectEnd() { state.withLock { $0.current?.mayEnd = true } }

  /// - Parameters:
  ///   - path: the worker's executable.
  ///   - environment: what every worker gets, given what it is called this time.
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

  /// Sends a signal; remembers that it ends or stops the process.
  func signal(_ number: Int32) {
    state.withLock { state in
      switch number {
      case SIGSTOP: state.current?.isSuspended = true
      case SIGCONT: state.current?.isSuspended = false
      default:
        state.current?.ending = number
        if number == SIGTERM { state.current?.wasToldToEnd = true }
      }
      state.current?.child.signal(number)
    }
  }

  /// Why its end, if it has ended, is no doing of ours; nil when all is well.
  var unexpectedEnd: String? {
    guard let current, let exit = current.child.exit, !current.mayEnd else { return nil }
    switch (exit, current.ending) {
    case (.signalled(SIGKILL), SIGKILL?), (.exited(0), SIGTERM?): return nil
    // What it could not finish in time is left to the fence.
    case (.exited(1), SIGTERM?): return nil
    // It had not come to listening for it yet.
    case (.signalled(SIGTERM), _?): return nil
    // A SIGTERM that was faster than the SIGKILL after it.
    case (.exited(0), SIGKILL?) where current.wasToldToEnd: return nil
    // A SIGKILL that overtook a SIGTERM.
    case (.signalled(SIGKILL), _?): return nil
    default:
      let lines = ((try? String(contentsOfFile: current.log, encoding: .utf8)) ?? "")
        .split(separator: "\n")
      // The other lanes have something to say after it.
      if lines.suffix(50).contains(where: { $0.contains(Sabotage.message) }) { return nil }
      return "\(current.identity) ended with \(exit): \(lines.suffix(3).joined(separator: " / "))"
    }
  }

  private static func resolved(_ command: String) -> String {
    if command.contains("/") { return command }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return path.split(separator: ":").map { "\($0)/\(command)" }
      .first { FileManager.default.isExecutableFile(atPath: $0) } ?? command
  }
}
