import Alarms
import ArgumentParser
import Pipeline

@main
struct AlarmWorker: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "alarm-worker",
    abstract: "Renders notifications as alarms in their readers' languages.",
    version: codeVersion)

  @OptionGroup var options: WorkerOptions

  @Option(help: "The language of readers whose own is unknown or has no sentences.")
  var defaultLocale = "en"

  func run() async throws {
    try await runWorker(
      try alarmHandler(defaultLocale: defaultLocale), options: options, defaultHTTPPort: 9473)
  }
}
