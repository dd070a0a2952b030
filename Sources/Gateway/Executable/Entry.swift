import ArgumentParser
import Gateway
import Service

@main
enum Entry {
  @MainActor static func main() async {
    openStandardDescriptors()
    await GatewayCommand.main()
  }
}
