public import ArgumentParser
import Lanes
import Notifications
import Service

/// The command line of `notification-worker`.
public struct NotificationWorker: WorkerCommand {
  public static let configuration = CommandConfiguration(
    commandName: "notification-worker",
    abstract: "Derives notifications from likes, comments, follows, messages and mentions.",
    version: codeVersion)

  @OptionGroup var options: WorkerOptions

  public init() {}

  public func run() async throws {
    try await runWorker(notificationHandler, options: options, defaultHTTPPort: 9472)
  }
}
