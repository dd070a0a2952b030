import AlarmText
public import ArgumentParser
import Lanes
import Notifications
import Service

/// The command line of `notification-worker`.
public struct NotificationWorker: WorkerCommand {
  public static let configuration = CommandConfiguration(
    commandName: "notification-worker",
    abstract:
      "Derives notifications from likes, comments, follows, messages, mentions and raised alarms.",
    discussion: "SIGHUP reloads --catalog-dir; errors are logged and leave the kinds in use.",
    version: codeVersion)

  @OptionGroup var options: WorkerOptions
  @OptionGroup var catalogs: CatalogOptions

  public init() {}

  public func run() async throws {
    let sentences = try await catalogs.sentences(options)
    try await runWorker(
      notificationHandler(kinds: sentences.current.registry), options: options,
      defaultHTTPPort: 9472, reload: { try sentences.reload() })
  }
}
