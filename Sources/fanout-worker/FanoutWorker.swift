import ArgumentParser
import Feeds
import Pipeline

@main
struct FanoutWorker: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fanout-worker",
    abstract: "Applies posts, follows and messages to feeds and conversations.",
    version: codeVersion)

  @OptionGroup var options: WorkerOptions

  @Option(
    help: """
      Posts of authors with this many followers or more are not copied to feeds but merged when a \
      feed is read.
      """)
  var pushLimit = 10_000

  func validate() throws {
    guard (0...1_000_000).contains(pushLimit) else {
      throw ValidationError("--push-limit is \(pushLimit), but must be 0 to 1000000.")
    }
  }

  func run() async throws {
    try await runWorker(
      feedHandler(pushLimit: pushLimit), options: options, defaultHTTPPort: 9471)
  }
}
