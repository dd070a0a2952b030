import ArgumentParser
import Gateway

@main
enum Entry {
  static func main() async { await GatewayCommand.main() }
}
