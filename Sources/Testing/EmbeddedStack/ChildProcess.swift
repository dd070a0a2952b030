import Foundation
import Synchronization

/// A child process that does not outlive this process.
///
/// Each child gets its own process group, so a Ctrl-C in the terminal reaches only this process,
/// which then stops its children in order. If this process is killed, a watcher (a shell that waits
/// for its standard input to close) stops them. Thread-safe.
public final class ChildProcess: Sendable {
  /// The destination of standard output and standard error.
  public enum Output: Sendable {
    /// Discarded.
    case discard
    /// This process's own standard output and standard error.
    case inherit
    /// Appended to a file.
    case file(String)
    /// Passed line by line (at most 64 KiB each) to a handler on its own thread.
    case lines(@Sendable (String) -> Void)
  }

  /// How a process ended.
  public enum Exit: Sendable, Equatable, CustomStringConvertible {
    /// It exited with this status.
    case exited(Int32)
    /// It was killed by this signal.
    case signalled(Int32)

    /// A readable description.
    public var description: String {
      switch self {
      case .exited(let status): "exit status \(status)"
      case .signalled(let signal): "signal \(signal)"
      }
    }
  }

  /// How the watcher ends the child if this process dies.
  public struct Orphaned: Sendable {
    /// The first signal to send; SIGKILL follows ten seconds later.
    public var signal: Int32
    /// Directories to remove after the child has ended.
    public var removing: [String]

    /// Defaults to SIGTERM (15) and no directories.
    public init(signal: Int32 = 15, removing: [String] = []) {
      self.signal = signal
      self.removing = removing
    }
  }

  /// The process ID; the system may reuse it after `wait` has returned.
  public let processID: Int32
  /// The executable's path.
  public let path: String

  private let exitBox = Mutex<Exit?>(nil)
  private let ended = DispatchSemaphore(value: 0)

  /// Starts `path` with `arguments`.
  ///
  /// - Parameters:
  ///   - environment: added to this process's environment; nil removes a variable.
  ///   - user: the user to switch to first (needs root and `setpriv`).
  /// - Throws: `StackError` if the process cannot be started.
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

  /// Whether the process is still running.
  public var isRunning: Bool { exit == nil }

  /// Sends a signal unless the process has ended.
  public func signal(_ number: Int32) {
    exitBox.withLock { exit in
      // Signal under the lock: the process ID is not reused until the child is reaped.
      if exit == nil { kill(processID, number) }
    }
  }

  /// Waits at most `seconds` for the process to end.
  ///
  /// - Returns: how it ended; nil if it is still running.
  public func wait(seconds: Double) -> Exit? {
    if ended.wait(timeout: .now() + seconds) == .success { ended.signal() }
    return exit
  }

  /// Sends `signal` (SIGTERM, 15, by default), and SIGKILL if the process has not ended within
  /// `seconds`.
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
    // Dismiss the watcher before reaping, so that it never kills a process that reuses the ID.
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
