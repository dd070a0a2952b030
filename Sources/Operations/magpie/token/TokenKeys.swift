import ArgumentParser
import Events
import Gateway

struct TokenKeys: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keys",
    abstract: "Write a key set with a new random secret, for --jwks-file of magpie-gateway.",
    discussion: "A file that exists is left as it is.")

  @Argument(help: "The file. Only its owner may read it.")
  var file: String

  func run() throws {
    let isNew = try TokenSigner.makeKeySet(at: file)
    Console.output.line(
      escapedForDisplay(isNew ? "wrote \(file)" : "\(file) exists; left as it is"))
  }
}
