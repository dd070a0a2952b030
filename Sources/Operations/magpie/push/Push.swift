import ArgumentParser

struct PushCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "push",
    abstract: "Tell what push-worker did, and help to try it.",
    subcommands: [PushExplain.self, PushKeys.self, PushProviders.self])
}
