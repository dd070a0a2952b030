import ArgumentParser

struct TokenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Sign tokens for trying the API and its pages.",
    discussion: """
      In production, the service where people log in signs their tokens, and magpie-gateway only \
      needs its public keys.
      """,
    subcommands: [TokenKeys.self, TokenSign.self])
}
