import EmbeddedStack
import Events
import Foundation

/// All workers, and what serves pages if asked for, as child processes.
final class WorkerFleet {
  let logDirectory: String
  /// Keeps other stacks out of the directory while this process lives.
  private let lock: Int32

  private struct Worker {
    var name: String
    var executable: String
    var path: String
    var arguments: [String]
    var environment: [String: String]
    /// Of /metrics; 0 for one that nobody else knows.
    var port: UInt16
    var log: String
    var process: ChildProcess
    /// The restarts within the last minute.
    var restarts: [ContinuousClock.Instant] = []
    var resumeAt: ContinuousClock.Instant?
  }

  private static let restartsPerMinute = 5

  private let environment: [String: String]
  private let isLookedAt: Bool
  private var workers: [Worker] = []

  /// - Parameters:
  ///   - logDirectory: followed by a number if another stack uses it.
  ///   - isLookedAt: whether others must find the processes' /metrics.
  init(
    processes: Int, lanes: Int, logDirectory: String, environment: [String: String],
    isLookedAt: Bool
  ) throws {
    self.isLookedAt = isLookedAt
    (self.logDirectory, lock) = try Self.takeDirectory(logDirectory)
    self.environment = environment
    for group in ConsumerGroup.required {
      for number in 1...processes {
        try start(
          "\(group.executable)-\(number)", group.executable, adding: ["MAGPIE_LANES": "\(lanes)"])
      }
    }
  }

  deinit { close(lock) }

  /// The directory, or the first one with a number behind it that no other process has locked.
  private static func takeDirectory(_ wanted: String) throws -> (path: String, lock: Int32) {
    var (path, number) = (wanted, 1)
    while true {
      try makeDirectory(path)
      let lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      // Some file systems have no locks.
      if flock(lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK { return (path, lock) }
      close(lock)
      number += 1
      path = "\(wanted)-\(number)"
    }
  }

  /// Starts one more process.
  ///
  /// - Parameters:
  ///   - name: of its log.
  ///   - executable: its name, by which this executable knows what to run: see `Entry`.
  ///   - arguments: before those of every process.
  ///   - additions: to the environment of all processes.
  func start(
    _ name: String, _ executable: String, _ arguments: [String] = [],
    adding additions: [String: String]
  ) throws {
    let path = try link(executable)
    let log = "\(logDirectory)/\(name).log"
    unlink(log)
    let environment = environment.merging(additions) { $1 }
    let port = isLookedAt ? try LocalHTTP.freePort(preferring: 0) : 0
    let arguments = arguments + ["--http-port", "\(port)"]
    workers.append(
      Worker(
        name: name, executable: executable, path: path, arguments: arguments,
        environment: environment, port: port, log: log,
        process: try ChildProcess(
          path, arguments, environment: environment, output: .file(log))))
  }

  /// Where the processes' /metrics are, as `--operate-processes` of `magpie operate`.
  var metricsSources: String {
    workers.prefix(MetricsSource.addressesMax)
      .map { "\($0.executable)=127.0.0.1:\($0.port)" }.joined(separator: ",")
  }

  /// Restarts workers that have exited, with increasing delays. Their logs contain the reasons.
  ///
  /// - Throws: `Failure` if a worker exits too often. Being killed by SIGKILL does not count.
  func restartTheDead() throws {
    let now = ContinuousClock.now
    for index in workers.indices {
      guard let exit = workers[index].process.exit else { continue }
      if let resumeAt = workers[index].resumeAt {
        guard now >= resumeAt else { continue }
        workers[index].resumeAt = nil
        workers[index].restarts.append(now)
        workers[index].process = try ChildProcess(
          workers[index].path, workers[index].arguments,
          environment: workers[index].environment, output: .file(workers[index].log))
        continue
      }
      workers[index].restarts.removeAll { now - $0 > .seconds(60) }
      let recent = workers[index].restarts.count
      let ended = "\(workers[index].name) has ended (\(exit))"
      guard recent < Self.restartsPerMinute || exit == .signalled(SIGKILL) else {
        throw Failure(
          .found,
          "\(ended), for the \(recent + 1)th time within a minute. The end of its log, "
            + "\(workers[index].log):\n\(Self.end(of: workers[index].log))")
      }
      let delay = Duration.milliseconds(250 << min(recent, Self.restartsPerMinute))
      say("\(ended); starting it again in \(delay)")
      workers[index].resumeAt = now + delay
    }
  }

  /// Sends SIGTERM to all workers and waits for them; they finish their batches.
  func stop() {
    for worker in workers { worker.process.signal(SIGTERM) }
    for worker in workers {
      let exit = worker.process.terminate(within: 30)
      if exit != .exited(0) { say("\(worker.name) ended with \(exit); see \(worker.log)") }
    }
    workers = []
  }

  /// A symbolic link to this executable, beside the logs. So whoever builds `magpie` can run every worker.
  private func link(_ name: String) throws -> String {
    guard let own = Bundle.main.executableURL?.resolvingSymlinksInPath() else {
      throw Failure(.unavailable, "the path of this executable is not known")
    }
    let link = URL(filePath: logDirectory).appending(path: name)
    // Only a link can be that of an earlier run.
    if (try? FileManager.default.destinationOfSymbolicLink(atPath: link.path)) != nil {
      unlink(link.path)
    }
    guard symlink(own.path, link.path) == 0 else {
      throw Failure(
        .usage,
        "\(link.path) cannot be created: \(String(cString: strerror(errno))). "
          + "Choose another --state-dir.")
    }
    return link.path
  }

  private static func end(of log: String) -> String {
    let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").suffix(8).map { "  \($0)" }.joined(separator: "\n")
  }
}
