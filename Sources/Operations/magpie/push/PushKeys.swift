import ArgumentParser
import Events
import Foundation

struct PushKeys: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keys",
    abstract: "Write new keys for sealing devices' tokens, for --token-keys-file of push-worker.",
    discussion: """
      A file that exists is left as it is. To rotate, add a line `seal NAME KEY` above the others: \
      the first one seals, all of them open.
      """)

  @Argument(help: "The file. Only its owner may read it.") var file: String

  func run() throws {
    let isNew = try Self.make(file)
    Console.output.line(
      escapedForDisplay(isNew ? "wrote \(file)" : "\(file) exists; left as it is"))
  }

  /// - Returns: false if there already is a file.
  static func make(_ path: String) throws -> Bool {
    func key() -> String {
      Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
    }
    let text = "fingerprint \(key())\nseal first \(key())\n"
    return try makeSecretFile(at: path, text)
  }
}
