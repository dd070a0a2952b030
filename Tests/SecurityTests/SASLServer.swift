import Crypto
import Foundation

/// The server side of SASL PLAIN (RFC 4616) and SCRAM-SHA-256 (RFC 5802, 7677) for one login.
struct SASLServer {
  enum Mechanism: String {
    case plain = "PLAIN"
    case scram = "SCRAM-SHA-256"
  }

  enum Step {
    /// A message to send; the exchange continues.
    case challenge([UInt8])
    case accepted([UInt8])
    case refused
  }

  let user: String
  let password: String
  let mechanism: Mechanism

  private var salt = Array("a salt of the test".utf8)
  private var first: (client: String, server: String, nonce: String)?
  private static let iterations = 4096

  init(user: String, password: String, mechanism: Mechanism) {
    (self.user, self.password, self.mechanism) = (user, password, mechanism)
  }

  mutating func receive(_ bytes: [UInt8]) -> Step {
    switch mechanism {
    case .plain:
      let parts = bytes.split(separator: 0, omittingEmptySubsequences: false)
      guard parts.count == 3, parts[1].elementsEqual(user.utf8),
        parts[2].elementsEqual(password.utf8)
      else { return .refused }
      return .accepted([])
    case .scram: return scram(String(decoding: bytes, as: UTF8.self))
    }
  }

  private mutating func scram(_ message: String) -> Step {
    guard let first else {
      // n,,n=user,r=nonce
      let bare = message.split(separator: ",", omittingEmptySubsequences: false).dropFirst(2)
        .joined(separator: ",")
      guard let name = Self.attribute("n", of: bare), name == user,
        let clientNonce = Self.attribute("r", of: bare)
      else { return .refused }
      let nonce = clientNonce + UUID().uuidString
      let reply = "r=\(nonce),s=\(Data(salt).base64EncodedString()),i=\(Self.iterations)"
      first = (bare, reply, nonce)
      return .challenge(Array(reply.utf8))
    }
    // c=biws,r=nonce,p=proof
    guard let proof = Self.attribute("p", of: message).flatMap({ Data(base64Encoded: $0) }),
      // Compares like Kafka's server: librdkafka before 2.6 repeats its own half.
      Self.attribute("r", of: message)?.hasSuffix(first.nonce) == true,
      let end = message.range(of: ",p=")
    else { return .refused }
    let salted = Self.stretched(password, salt)
    let authentication = "\(first.client),\(first.server),\(message[..<end.lowerBound])"
    let stored = SHA256.hash(data: Self.mac("Client Key", salted))
    let signature = Self.mac(authentication, Array(stored))
    let key = zip(proof, signature).map { $0 ^ $1 }
    guard Array(SHA256.hash(data: key)) == Array(stored) else { return .refused }
    let verifier = Self.mac(authentication, Self.mac("Server Key", salted))
    return .accepted(Array("v=\(Data(verifier).base64EncodedString())".utf8))
  }

  private static func attribute(_ name: String, of message: String) -> String? {
    message.split(separator: ",").first { $0.hasPrefix(name + "=") }.map {
      String($0.dropFirst(name.count + 1))
    }
  }

  private static func mac(_ message: String, _ key: [UInt8]) -> [UInt8] {
    mac(Array(message.utf8), key)
  }

  private static func mac(_ message: [UInt8], _ key: [UInt8]) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: key)))
  }

  /// PBKDF2 with HMAC-SHA-256, one block.
  private static func stretched(_ password: String, _ salt: [UInt8]) -> [UInt8] {
    let key = Array(password.utf8)
    var block = mac(salt + [0, 0, 0, 1], key)
    var result = block
    for _ in 1..<iterations {
      block = mac(block, key)
      for index in result.indices { result[index] ^= block[index] }
    }
    return result
  }
}
