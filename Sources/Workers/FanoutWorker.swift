public import ArgumentParser
import Feeds
import Pipeline

/// The command line of `fanout-worker`.
public struct FanoutWorker: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "fanout-worker",
    abstract: "Applies posts, follows and messages to feeds and conversations.",
    version: codeVersion)

  @OptionGroup var options: WorkerOptions

  @Option(
    help: """
      Posts of authors with this many followers or more are not copied to feeds but merged when a \
      feed is read (default: 10000). [env: MAGPIE_PUSH_LIMIT]
      """)
  var pushLimit: Int?

  public init() {}

  public func run() async throws {
    let text = try await options.setting("pushLimit", flag: pushLimit.map(String.init)) ?? "10000"
    guard let pushLimit = Int(text), (0...1_000_000).contains(pushLimit) else {
      throw ValidationError("--push-limit is \(text), but must be 0 to 1000000.")
    }
    try await runWorker(
      feedHandler(pushLimit: pushLimit), options: options, defaultHTTPPort: 9471)
  }
}
