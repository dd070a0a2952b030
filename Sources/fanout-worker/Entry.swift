import ArgumentParser
import Workers

@main
enum Entry {
  static func main() async { await FanoutWorker.main() }
}
