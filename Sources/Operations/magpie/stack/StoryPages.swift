import EmbeddedStack
import Foundation
import Gateway

/// A gateway on this machine, and a link to its pages for each person of a story.
struct StoryPages {
  static let defaultPort: UInt16 = 9476
  private static let issuer = "magpie up"
  private static let audience = "magpie pages"
  private static let lifetime = Duration.seconds(24 * 3600)

  let address: String
  private let port: UInt16
  private let keySet: String

  /// - Parameter port: of the API; nil takes 9476, or a free one if that is taken.
  init(stateDirectory: String, port: UInt16?) throws {
    let directory = URL(filePath: stateDirectory).standardizedFileURL.path
    keySet = directory + "/gateway-keys.json"
    _ = try TokenKeys.make(keySet)
    self.port = try LocalHTTP.freePort(preferring: port ?? Self.defaultPort)
    if let port, port > 0, port != self.port {
      throw Failure(.unavailable, "Port \(port) is taken. Choose another --api-port.")
    }
    address = "http://127.0.0.1:\(self.port)/"
  }

  /// For the gateway's process.
  var environment: [String: String] {
    [
      "MAGPIE_API_PORT": "\(port)", "MAGPIE_JWKS_FILE": keySet,
      "MAGPIE_TOKEN_ISSUER": Self.issuer, "MAGPIE_TOKEN_AUDIENCE": Self.audience,
    ]
  }

  var isServed: Bool {
    LocalHTTP.get("/", port: port, timeoutSeconds: 3, bytesMax: 1 << 16)?.status == 200
  }

  /// Lines that a shell takes for comments.
  func links(_ people: [Story.Person]) throws -> String {
    let signer = try TokenSigner(keySetFile: keySet, issuer: Self.issuer, audience: Self.audience)
    let lines = people.map { person in
      let name = displayName(person.name, id: person.id)
      let link = pageLink(address, token: signer.token(for: person.id, lifetime: Self.lifetime))
      return "# \(name) (\(escapedForTerminal("\(person.id), \(person.locale)")))\n\(link)\n"
    }
    return "\n# The pages, as each person of the story; valid for a day:\n\n"
      + lines.joined(separator: "\n")
  }
}
