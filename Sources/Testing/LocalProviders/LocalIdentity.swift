import Crypto
import Foundation
import SwiftASN1
import X509

/// A certificate for a server on this machine, signed by an authority that is made for it and forgotten.
struct LocalIdentity {
  /// In PEM.
  var authority: String
  var certificate: String
  var key: String

  private static let days = 365

  /// - Parameter names: of the server, as its clients write them.
  /// - Throws: X509's errors, such as for a name that is none.
  init(names: [String]) throws {
    let (issuerKey, ownKey) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
    let issuer = try DistinguishedName { CommonName("Local authority of Magpie") }
    let end = Date(timeIntervalSinceNow: Double(Self.days) * 86_400)
    func certificate(
      _ subject: DistinguishedName, _ key: P256.Signing.PrivateKey,
      _ extensions: Certificate.Extensions
    ) throws -> String {
      try Certificate(
        version: .v3, serialNumber: Certificate.SerialNumber(),
        publicKey: .init(key.publicKey), notValidBefore: Date(timeIntervalSinceNow: -3600),
        notValidAfter: end, issuer: issuer, subject: subject,
        signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions,
        issuerPrivateKey: .init(issuerKey)
      ).serializeAsPEM().pemString
    }
    authority = try certificate(
      issuer, issuerKey,
      Certificate.Extensions {
        Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
        Critical(KeyUsage(keyCertSign: true))
      })
    self.certificate = try certificate(
      DistinguishedName { CommonName("Local providers of Magpie") }, ownKey,
      Certificate.Extensions { SubjectAlternativeNames(names.map { .dnsName($0) }) })
    key = ownKey.pemRepresentation
  }
}
