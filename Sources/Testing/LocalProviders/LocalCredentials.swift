import Crypto
import CryptoExtras
public import Foundation

/// The files that push-worker needs to send to a ``ProviderServer``.
extension ProviderServer {
  /// The app of APNs, and the project of FCM, that the server knows.
  public static let app = "com.example.app"
  public static let project = "local"
  /// The name of the credentials for browsers.
  public static let webApp = "web"

  /// Writes `push.json`, for `--push-config`, the files that it names, and the key of the
  /// certificates' authority.
  ///
  /// - Parameters:
  ///   - directory: existing.
  ///   - host: one of the server's names.
  /// - Throws: Foundation's errors if a file cannot be written.
  public func writeCredentials(to directory: URL, host: String, port: Int) throws {
    func write(_ text: String, _ name: String) throws {
      try text.write(to: directory.appending(path: name), atomically: true, encoding: .utf8)
    }
    let origin = "https://\(host):\(port)"
    try write(identity.authority, "ca.crt")
    try write(identity.authorityKey, "ca.key")
    try write(apnsKey.pemRepresentation, "apns.p8")
    let vapid = P256.Signing.PrivateKey().rawRepresentation.base64EncodedString()
      .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
      .replacingOccurrences(of: "=", with: "")
    try write(vapid, "vapid.key")
    let account = try JSONSerialization.data(withJSONObject: [
      "project_id": Self.project, "client_email": "push@local", "private_key_id": "1",
      "private_key": _RSA.Signing.PrivateKey(keySize: .bits2048).pemRepresentation,
      "token_uri": "\(origin)/token",
    ])
    try write(String(decoding: account, as: UTF8.self), "fcm.json")
    try write(
      """
      {
        "apns": {"\(Self.app)": {"keyId": "ABCDEFGHIJ", "teamId": "KLMNOPQRST", "keyFile": "apns.p8",
          "origin": "\(origin)", "title": "Magpie"}},
        "fcm": {"\(Self.project)": {"serviceAccountFile": "fcm.json", "origin": "\(origin)", "title": "Magpie"}},
        "webPush": {"\(Self.webApp)": {"subject": "mailto:push@example.com",
          "privateKeyFile": "vapid.key", "title": "Magpie"}},
        "certificateAuthorityFile": "ca.crt", "allowsLoopback": true
      }

      """, "push.json")
  }
}

/// The key in a file of the directory; a new one if there is none.
func keptKey(_ name: String, in directory: URL?) -> P256.Signing.PrivateKey {
  let file = directory?.appending(path: name)
  let text = file.flatMap { try? String(contentsOf: $0, encoding: .utf8) }
  return text.flatMap { try? P256.Signing.PrivateKey(pemRepresentation: $0) }
    ?? P256.Signing.PrivateKey()
}
