import Alarms
import ArgumentParser
import Pipeline

@main
struct AlarmWorker: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "alarm-worker",
    abstract: "Renders notifications as localized alarm text with the actor highlighted.",
    version: codeVersion)

  @OptionGroup var options: WorkerOptions

  func run() async throws {
    try await runWorker(alarmHandler, options: options, defaultHTTPPort: 9473)
  }
}
