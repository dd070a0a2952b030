import ArgumentParser
import Foundation
import WorkerCommands

/// Starts what the executable is called as. In the container image the workers' names are links to
/// this one, which holds their code once instead of four times.
@main
enum Entry {
  static func main() async {
    switch CommandLine.arguments.first.map({ URL(filePath: $0).lastPathComponent }) {
    case "fanout-worker": await FanoutWorker.main()
    case "notification-worker": await NotificationWorker.main()
    case "alarm-worker": await AlarmWorker.main()
    default: Magpie.main()
    }
  }
}
