import ArgumentParser
import Events
import Foundation
import Gateway

struct TokenKeys: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keys",
    abstract: "Write a key set with a new random secret, for --jwks-file of magpie-gateway.",
    discussion: "A file that exists is left as it is.")

  @Argument(help: "The file. Only its owner may read it.")
  var file: String

  func run() throws {
    let isNew = try Self.make(file)
    Console.output.line(
      escapedForDisplay(isNew ? "wrote \(file)" : "\(file) exists; left as it is"))
  }

  /// - Returns: false if there already is a file.
  static func make(_ path: String) throws -> Bool {
    do {
      return try TokenSigner.makeKeySet(at: path)
    } catch {
      throw Failure(
        .unavailable, "\(path) cannot be written: \(error.localizedDescription)")
    }
  }
}
