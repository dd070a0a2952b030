import AlarmText
import Alarms
public import ArgumentParser
import Lanes
import Service

/// The command line of `alarm-worker`.
public struct AlarmWorker: WorkerCommand {
  public static let configuration = CommandConfiguration(
    commandName: "alarm-worker",
    abstract: "Renders notifications as alarms in their readers' languages.",
    discussion: "SIGHUP reloads --catalog-dir; errors are logged and leave the catalogs in use.",
    version: codeVersion)

  @OptionGroup var options: WorkerOptions

  @OptionGroup var catalogs: CatalogOptions

  public init() {}

  public func run() async throws {
    let sentences = try await catalogs.sentences(options)
    try await runWorker(
      alarmHandler(engine: sentences.current), options: options, defaultHTTPPort: 9473,
      reload: { try sentences.reload() })
  }
}
