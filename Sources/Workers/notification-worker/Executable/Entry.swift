import ArgumentParser
import Service
import WorkerCommands

@main
enum Entry {
  @MainActor static func main() async {
    openStandardDescriptors()
    await NotificationWorker.main()
  }
}
