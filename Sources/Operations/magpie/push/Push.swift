import ArgumentParser

struct PushCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "push",
    abstract: "Inspect what push-worker did, and try it locally.",
    subcommands: [PushExplain.self, PushKeys.self, PushProviders.self])
}
