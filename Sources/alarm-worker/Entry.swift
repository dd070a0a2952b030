import ArgumentParser
import Workers

@main
enum Entry {
  static func main() async { await AlarmWorker.main() }
}
