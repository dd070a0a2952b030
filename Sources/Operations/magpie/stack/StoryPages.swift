import EmbeddedStack
import Events
import Foundation
import Gateway

/// A gateway and operators' pages on this machine, and a link to them for each person of a story and for an
/// operator.
struct StoryPages {
  static let defaultPort: UInt16 = 9476
  private static let defaultOperatorPort: UInt16 = 9478
  private static let issuer = "magpie up"
  private static let audience = "magpie pages"
  private static let operatorAudience = "magpie operators"
  private static let lifetime = Duration.seconds(24 * 3600)

  let address: String
  private let port: UInt16
  private let operatorPort: UInt16
  private let keySet: String

  /// - Parameter port: of the API; nil takes 9476, or a free one if that is taken.
  init(stateDirectory: String, port: UInt16?) throws {
    let directory = URL(filePath: stateDirectory).standardizedFileURL.path
    keySet = directory + "/gateway-keys.json"
    _ = try TokenSigner.makeKeySet(at: keySet)
    self.port = try LocalHTTP.freePort(preferring: port ?? Self.defaultPort)
    if let port, port > 0, port != self.port {
      throw Failure(.unavailable, "Port \(port) is taken. Choose another --api-port.")
    }
    address = "http://127.0.0.1:\(self.port)/"
    // Nobody listens at the API's port yet.
    operatorPort = try LocalHTTP.freePort(
      preferring: self.port == Self.defaultOperatorPort ? 0 : Self.defaultOperatorPort)
  }

  /// For the gateway's process.
  var environment: [String: String] {
    [
      "MAGPIE_API_PORT": "\(port)", "MAGPIE_JWKS_FILE": keySet,
      "MAGPIE_TOKEN_ISSUER": Self.issuer, "MAGPIE_TOKEN_AUDIENCE": Self.audience,
    ]
  }

  /// For the process of the operators' pages.
  ///
  /// - Parameter processes: where /metrics are, as `--operate-processes`.
  func operatorEnvironment(processes: String) -> [String: String] {
    [
      "MAGPIE_OPERATE_PORT": "\(operatorPort)", "MAGPIE_JWKS_FILE": keySet,
      "MAGPIE_TOKEN_ISSUER": Self.issuer, "MAGPIE_OPERATE_AUDIENCE": Self.operatorAudience,
      "MAGPIE_OPERATE_PROCESSES": processes,
    ]
  }

  var isServed: Bool {
    [port, operatorPort].allSatisfy {
      LocalHTTP.get("/", port: $0, timeoutSeconds: 3, bytesMax: 1 << 16)?.status == 200
    }
  }

  /// Lines that a shell takes for comments.
  func links(_ people: [Story.Person]) throws -> String {
    let signer = try TokenSigner(keySetFile: keySet, issuer: Self.issuer, audience: Self.audience)
    let lines = people.map { person in
      let name = displayName(person.name, id: person.id)
      let link = pageLink(address, token: signer.token(for: person.id, lifetime: Self.lifetime))
      return "# \(name) (\(escapedForDisplay("\(person.id), \(person.locale)")))\n\(link)\n"
    }
    let operators = try TokenSigner(
      keySetFile: keySet, issuer: Self.issuer, audience: Self.operatorAudience)
    let link = pageLink(
      "http://127.0.0.1:\(operatorPort)/",
      token: operators.token(for: "operator", lifetime: Self.lifetime))
    return "\n# The pages, as each person of the story; valid for a day:\n\n"
      + lines.joined(separator: "\n") + "\n# The operators' pages\n\(link)\n"
  }
}
