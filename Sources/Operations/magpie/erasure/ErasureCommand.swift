import ArgumentParser

struct ErasureCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "erasure",
    abstract: "Forget people, and prove it.",
    discussion: "docs/operations/erasures.md is for whoever answers such requests.",
    subcommands: [ErasureRequest.self, ErasureReport.self, ErasureVerify.self])
}
