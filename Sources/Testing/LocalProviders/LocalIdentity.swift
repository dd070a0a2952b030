import Crypto
import Foundation
import NIOSSL
import SwiftASN1
import X509

/// A certificate for a server on this machine, signed by an authority of its own.
struct LocalIdentity {
  /// In PEM.
  var authority: String
  var authorityKey: String
  var certificate: String
  var key: String

  private static let days = 365

  /// - Parameters:
  ///   - names: of the server, as its clients write them.
  ///   - issuerKey: of the authority. Who trusts one with this key trusts each other one.
  /// - Throws: X509's errors, such as for a name that is none.
  init(names: [String], issuerKey: P256.Signing.PrivateKey) throws {
    let ownKey = P256.Signing.PrivateKey()
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
    authorityKey = issuerKey.pemRepresentation
  }

  /// The configuration of a server with this certificate.
  ///
  /// - Throws: NIOSSL's errors.
  func tls() throws -> TLSConfiguration {
    let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8))
    let key = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)
    return .makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
  }
}
