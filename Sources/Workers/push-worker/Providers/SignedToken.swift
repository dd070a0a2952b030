import Foundation

/// A JSON Web Token in its compact form (RFC 7519; RFC 7515, 3.1).
///
/// - Parameter sign: returns the signature in the form of the algorithm, such as r and s of 32
///   bytes each for ES256 (RFC 7518, 3.4).
func signedToken(
  header: [(String, JSON)], claims: [(String, JSON)], sign: (Data) throws -> Data
) throws(Unsendable) -> String {
  let signed = base64URL(JSON.object(header).bytes) + "." + base64URL(JSON.object(claims).bytes)
  do {
    return signed + "." + base64URL(try sign(Data(signed.utf8)))
  } catch {
    // swift-crypto's errors may quote key material.
    throw .cryptography
  }
}
