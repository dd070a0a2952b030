import ArgumentParser
import Notifications
import Pipeline

@main
struct NotificationWorker: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "notification-worker",
    abstract: "Derives notifications from likes, comments, follows, messages and mentions.",
    version: codeVersion)

  @OptionGroup var options: WorkerOptions

  func run() async throws {
    try await runWorker(notificationHandler, options: options, defaultHTTPPort: 9472)
  }
}
