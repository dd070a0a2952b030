import ArgumentParser
import Foundation
import Gateway
import Service
import WorkerCommands

/// Starts the tool, a worker or the gateway, by the name of the executable. In the container image these are
/// links to this executable, so that the image holds their code once instead of six times.
@main
enum Entry {
  @MainActor static func main() async {
    openStandardDescriptors()
    await run()
  }

  /// Not on the main thread, because the tool's commands block theirs.
  private static func run() async {
    switch CommandLine.arguments.first.map({ URL(filePath: $0).lastPathComponent }) {
    case "fanout-worker": await FanoutWorker.main()
    case "notification-worker": await NotificationWorker.main()
    case "alarm-worker": await AlarmWorker.main()
    case "reminder-worker": await ReminderWorker.main()
    case "push-worker": await PushWorker.main()
    case "magpie-gateway": await GatewayCommand.main()
    default: Magpie.main()
    }
  }
}
