import Foundation
import Synchronization

/// An executable running as a child of this process, which does not outlive it.
///
/// Children get process groups of their own: a Ctrl-C in the terminal reaches only this process,
/// which then ends them in order. If this process is killed outright, a watcher (a shell that waits
/// for its standard input to close) ends them. Thread-safe.
public final class ChildProcess: Sendable {
  /// Where standard output and standard error go.
  public enum Output: Sendable {
    /// Nowhere.
    case discard
    /// To this process's own.
    case inherit
    /// Appended to a file.
    case file(String)
    /// Line by line (at most 64 KiB each) to a handler, on a thread of its own.
    case lines(@Sendable (String) -> Void)
  }

  /// How a process ended.
  public enum Exit: Sendable, Equatable, CustomStringConvertible {
    /// By itself, with this status.
    case exited(Int32)
    /// By this signal.
    case signalled(Int32)

    /// For people.
    public var description: String {
      switch self {
      case .exited(let status): "exit status \(status)"
      case .signalled(let signal): "signal \(signal)"
      }
    }
  }

  /// What to do for the child if this process dies without a word.
  public struct Orphaned: Sendable {
    /// The signal it gets first; SIGKILL follows ten seconds later.
    public var signal: Int32
    /// A directory to remove once it has ended.
    public var removing: String?

    /// SIGTERM (15), and nothing to remove, by default.
    public init(signal: Int32 = 15, removing: String? = nil) {
      self.signal = signal
      self.removing = removing
    }
  }

  /// The process id; after `wait` has returned it may belong to somebody else.
  public let processID: Int32
  /// The executable.
  public let path: String

  private let exitBox = Mutex<Exit?>(nil)
  private let ended = DispatchSemaphore(value: 0)

  /// Starts `path` with `arguments`.
  ///
  /// - Parameters:
  ///   - environment: added to this process's own; nil values are removed from it.
  ///   - user: drop to this user first (needs root and `setpriv`).
  /// - Throws: `StackError` when it cannot be started.
  public init(
    _ path: String, _ arguments: [String] = [], environment: [String: String?] = [:],
    user: SystemUser? = nil, output: Output = .discard, orphaned: Orphaned = Orphaned()
  ) throws {
    self.path = path
    var command = [path] + arguments
    if let user { command = try user.prefix() + command }
    var merged = ProcessInfo.processInfo.environment
    for (name, value) in environment { merged[name] = value }

    let sink = try OutputSink(output)
    let child: Int32
    do {
      child = try spawn(command, merged, input: -1, output: sink.writeDescriptor)
    } catch {
      sink.closeBoth()
      throw error
    }
    processID = child
    sink.startReading()
    let watcher: Watcher
    do {
      watcher = try Watcher(of: child, orphaned)
    } catch {
      kill(child, SIGKILL)
      waitpid(child, nil, 0)
      throw error
    }
    let thread = Thread { self.reap(watcher) }
    thread.stackSize = 256 << 10
    thread.start()
  }

  /// How the process ended; nil while it runs.
  public var exit: Exit? { exitBox.withLock { $0 } }

  /// Whether it runs still.
  public var isRunning: Bool { exit == nil }

  /// Sends a signal, unless the process has ended.
  public func signal(_ number: Int32) {
    exitBox.withLock { exit in
      // Under the lock: a process that is not reaped yet keeps its number to itself.
      if exit == nil { kill(processID, number) }
    }
  }

  /// Waits for the end, at most `seconds`.
  ///
  /// - Returns: how it ended, nil if it runs still.
  public func wait(seconds: Double) -> Exit? {
    if ended.wait(timeout: .now() + seconds) == .success { ended.signal() }
    return exit
  }

  /// Ends the process: `signal` (SIGTERM, 15, by default), and SIGKILL if it has not ended within `seconds`.
  @discardableResult
  public func terminate(_ signal: Int32 = 15, within seconds: Double = 10) -> Exit {
    self.signal(signal)
    if let exit = wait(seconds: seconds) { return exit }
    self.signal(SIGKILL)
    ended.wait()
    ended.signal()
    return exit ?? .signalled(SIGKILL)
  }

  private func reap(_ watcher: Watcher) {
    var information = siginfo_t()
    while waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) == -1, errno == EINTR {}
    // Before the number is free for others, so that the watcher never ends a stranger.
    watcher.dismiss()
    exitBox.withLock { exit in
      var status: Int32 = 0
      while waitpid(processID, &status, 0) == -1, errno == EINTR {}
      let signal = status & 0x7f
      exit = signal == 0 ? .exited((status >> 8) & 0xff) : .signalled(signal)
    }
    ended.signal()
  }
}
