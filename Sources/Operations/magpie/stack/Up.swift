import ArgumentParser
import Foundation

struct Up: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Start everything on this machine, or attach to what is there, until interrupted.",
    discussion: """
      Starts a private PostgreSQL on a Unix socket, an embedded broker with all topics, and the \
      three workers, and prints where they are as export lines once all is ready. With \
      MAGPIE_KAFKA_BOOTSTRAP and MAGPIE_DATABASE_URL set, it migrates that database, makes missing \
      topics, and runs workers against both.

      ^C or SIGTERM stops all in order; nothing is left behind, also when magpie is killed. A worker \
      that dies is started again, up to five times a minute.

      With --data-dir the results stay and the embedded broker's log does not: the next `up` then \
      forgets the stored offsets and begins with empty topics. What a worker had applied stays. What \
      was acknowledged and not yet applied by a worker when everything ended, is lost to that worker: \
      publish it again, which changes nothing where it was applied. `magpie verify --wait` before ^C \
      makes sure that nothing is. Notifications whose alarms were not rendered yet are published again \
      at the start, so no alarm is lost for a notification that is stored.
      """)

  @OptionGroup var stack: StackOptions

  func run() throws {
    // Keep running if the reader of the output exits.
    signal(SIGPIPE, SIG_IGN)
    let signals = StopSignals()
    let running = try Stack(stack)
    defer { running.stop() }
    try running.startWorkers(stack) { signals.isStopRequested() }
    if !signals.isStopRequested() {
      Console.output.write(running.exports)
      say("ready; ^C stops everything")
    }
    while !signals.isStopRequested(within: 0.2) { try running.tend() }
    say("stopping")
  }
}
