public import ArgumentParser
import Feeds
import Handling
import Lanes
import Service

/// The command line of `fanout-worker`.
public struct FanoutWorker: WorkerCommand {
  public static let configuration = CommandConfiguration(
    commandName: "fanout-worker",
    abstract: "Applies posts, follows and messages to feeds and conversations.",
    version: codeVersion)

  @OptionGroup var options: WorkerOptions

  @Option(
    parsing: .unconditional,
    help: """
      Posts of authors with this many followers or more are not copied to feeds but merged when a \
      feed is read, until there are fewer than four fifths as many (default: 10000). \
      [env: MAGPIE_PUSH_LIMIT]
      """)
  var pushLimit: Int?

  @Option(
    parsing: .unconditional,
    help: """
      The minimum number of newest posts that a feed stores; older pages read the posts of \
      followed authors (default: 1000). [env: MAGPIE_FEED_LENGTH]
      """)
  var feedLength: Int?

  @Option(
    parsing: .unconditional,
    help: """
      Days after which the feed of a reader who does not visit is no longer stored, until the \
      reader returns; 0: never. Requires a backend that calls feed_touch (default: 0). \
      [env: MAGPIE_EVICT_IDLE_DAYS]
      """)
  var evictIdleDays: Int?

  @Option(
    parsing: .unconditional,
    help: """
      The age in days beyond which posts are not stored in feeds; pages that reach back further read the \
      posts of followed authors (default: 32). [env: MAGPIE_FEED_HISTORY_DAYS]
      """)
  var feedHistoryDays: Int?

  public init() {}

  public func run() async throws {
    let handler = feedHandler(
      pushLimit: try await options.process.number(
        "pushLimit", flag: pushLimit, 0...1_000_000, default: 10_000),
      feedLength: try await options.process.number(
        "feedLength", flag: feedLength, 10...100_000, default: 1_000),
      evictIdleDays: try await options.process.number(
        "evictIdleDays", flag: evictIdleDays, 0...3650, default: 0),
      historyDays: try await options.process.number(
        "feedHistoryDays", flag: feedHistoryDays, 1...3650, default: 32))
    try await runWorker(handler, options: options, defaultHTTPPort: 9471)
  }
}
