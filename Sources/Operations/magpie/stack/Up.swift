import ArgumentParser
import Foundation

struct Up: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run everything on this machine, or the workers on existing servers, until stopped.",
    discussion: """
      Starts a private PostgreSQL on a Unix socket, an embedded broker with all topics, and all \
      workers but push-worker, and prints their addresses as export lines once all are ready. If \
      MAGPIE_KAFKA_BOOTSTRAP and MAGPIE_DATABASE_URL are set, it migrates that database, creates \
      missing topics, and runs the workers on both.

      ^C, SIGTERM or the end of the terminal stops everything; under nohup, the terminal may end. No \
      process or temporary data remains, even if magpie is killed. A worker that exits is started \
      again, up to five times per minute.

      --data-dir keeps the tables, but not the embedded broker's log: the next `up` removes the stored \
      offsets and starts with empty topics. Events that were acknowledged but not yet applied by a \
      worker are lost for that worker. Publish them again, which changes nothing where they were \
      applied; or run `magpie verify --wait` before ^C to have all of them applied. Notifications \
      whose alarms were not rendered yet are published again at the start, so no alarm of a stored \
      notification is lost.
      """)

  @OptionGroup var stack: StackOptions

  @Flag(
    help: """
      Also publish the demo's story, serve the API, its pages and those for operators, and print a \
      link for each person of the story and for an operator.
      """)
  var pages = false

  @Option(
    parsing: .unconditional,
    help: "The port of --pages; 0 takes a free one (default: 9476, or a free one if it is taken).")
  var apiPort: UInt16?

  func validate() throws {
    guard pages || apiPort == nil else { throw ValidationError("--api-port is for --pages.") }
    // Its tokens would open a database that is not for trying.
    guard !pages || !stack.attaches else {
      throw ValidationError(
        "--pages is for the embedded stack. On existing servers, run magpie-gateway (docs/api.md).")
    }
    guard !pages || stack.workers > 0 else {
      throw ValidationError("--pages needs workers; --workers is 0.")
    }
  }

  func run() throws {
    // Keep running if the reader of the output exits.
    signal(SIGPIPE, SIG_IGN)
    let signals = StopSignals()
    let running = try Stack(stack)
    defer { running.stop() }
    try running.startWorkers(stack, isLookedAt: pages) { signals.isStopRequested() }
    let links = try pages ? start(running) { signals.isStopRequested() } : ""
    if !signals.isStopRequested() {
      Console.output.write(running.exports + links)
      say("ready; ^C stops everything")
    }
    while !signals.isStopRequested(within: 0.2) { try running.tend() }
    say("stopping")
  }

  /// - Returns: the links.
  private func start(_ running: Stack, isStopped: () -> Bool) throws -> String {
    if isStopped() { return "" }
    let story = try Story(path: nil)
    let served = try StoryPages(stateDirectory: stack.stateDir, port: apiPort)
    var progress = Progress(forced: false)
    _ = try running.publish(story, progress: &progress, isStopped: isStopped)
    try running.start(served, isStopped: isStopped)
    return try served.links(story.people)
  }
}
