import ArgumentParser
import WorkerCommands

@main
enum Entry {
  static func main() async { await PushWorker.main() }
}
