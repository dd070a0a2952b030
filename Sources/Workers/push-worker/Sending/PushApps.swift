public import Devices
import Events
import Foundation
import NIOSSL
import Providers

/// The credentials of the apps to push to, from a JSON file:
///
///     {
///       "apns": {"com.example.app": {"keyId": "…", "teamId": "…", "keyFile": "apns.p8"}},
///       "fcm": {"my-project": {"serviceAccountFile": "fcm.json"}},
///       "webPush": {"web": {"subject": "mailto:…", "privateKeyFile": "vapid.key"}},
///       "certificateAuthorityFile": "ca.pem", "allowsLoopback": true
///     }
///
/// File names are relative to this file's directory. `title` is the title of an app's
/// notifications; without it they have only a body. `origin`, an `https` URL without a path,
/// replaces the server of APNs or FCM by another one. The last two members are for such servers:
/// additional trusted certificate authorities, and whether the URLs of browsers and webhooks may
/// resolve to loopback addresses. Webhooks need no credentials.
public struct PushApps: Sendable, Redacted {
  private static let fileBytesMax = 1 << 20

  private struct File: Decodable {
    struct APNsApp: Decodable {
      var keyId: String
      var teamId: String
      var keyFile: String
      var origin: String?
      var title: String?
    }
    struct FCMApp: Decodable {
      var serviceAccountFile: String
      var origin: String?
      var title: String?
    }
    struct WebPushApp: Decodable {
      var subject: String
      var privateKeyFile: String
      var title: String?
    }

    var apns: [String: APNsApp]?
    var fcm: [String: FCMApp]?
    var webPush: [String: WebPushApp]?
    var certificateAuthorityFile: String?
    var allowsLoopback: Bool?
  }

  private(set) var apns: [String: APNs.Credentials] = [:]
  private(set) var fcm: [String: FCM.Credentials] = [:]
  private(set) var webPush: [String: WebPush.Credentials] = [:]
  private var titles: [PushProvider: [String: String]] = [:]
  /// Trusted besides the system's certificate authorities.
  private(set) var certificateAuthorities: [NIOSSLCertificate] = []
  private(set) var allowsLoopback = false

  /// No credentials.
  public init() {}

  /// The title of the notifications of a device's app; nil if it has none.
  func title(_ device: Device) -> String? { titles[device.provider]?[device.app] }

  /// - Parameter keys: the secret of Web Push's message keys is derived from them.
  /// - Throws: ``PushAppsError`` for a file that is missing, too long or malformed.
  public init(file path: String, keys: TokenKeys) throws(PushAppsError) {
    let ownFile = URL(filePath: path).absoluteURL
    let directory = ownFile.deletingLastPathComponent()
    func contents(_ name: String, _ member: String) throws(PushAppsError) -> [UInt8] {
      try Self.contents(of: URL(filePath: name, relativeTo: directory), member)
    }
    let file: File
    do {
      file = try JSONDecoder().decode(File.self, from: Data(Self.contents(of: ownFile, path)))
    } catch let error as PushAppsError {
      throw error
    } catch {
      throw PushAppsError(description: "\(path) is not a file of credentials: \(error)")
    }
    for (app, given) in file.apns ?? [:] {
      for (member, text) in [("keyId", given.keyId), ("teamId", given.teamId)] where text.isEmpty {
        throw PushAppsError(description: "the \(member) of apns for \(app) is empty")
      }
      let origin = try Self.origin(given.origin ?? "https://api.push.apple.com", "apns", app)
      apns[app] = APNs.Credentials(
        keyID: given.keyId, teamID: given.teamId, topic: app, origin: origin,
        pem: String(
          decoding: try contents(given.keyFile, "the keyFile of apns for \(app)"), as: UTF8.self))
      guard apns[app] != nil else { throw .invalid("apns", app) }
    }
    for (app, given) in file.fcm ?? [:] {
      let origin = try Self.origin(given.origin ?? "https://fcm.googleapis.com", "fcm", app)
      fcm[app] = FCM.Credentials(
        json: try contents(given.serviceAccountFile, "the serviceAccountFile of fcm for \(app)"),
        origin: origin)
      guard fcm[app] != nil else { throw .invalid("fcm", app) }
    }
    for (app, given) in file.webPush ?? [:] {
      let key = String(
        decoding: try contents(given.privateKeyFile, "the privateKeyFile of webPush for \(app)"),
        as: UTF8.self)
      webPush[app] = WebPush.Credentials(
        subject: given.subject, privateKey: key.trimmingCharacters(in: .whitespacesAndNewlines),
        messageSecret: keys.derivedKey(for: "web-push"))
      guard webPush[app] != nil else { throw .invalid("webPush", app) }
    }
    titles = [
      .apns: (file.apns ?? [:]).compactMapValues(\.title),
      .fcm: (file.fcm ?? [:]).compactMapValues(\.title),
      .webPush: (file.webPush ?? [:]).compactMapValues(\.title),
    ]
    if let name = file.certificateAuthorityFile {
      let pem = try contents(name, "certificateAuthorityFile")
      do {
        certificateAuthorities = try NIOSSLCertificate.fromPEMBytes(pem)
      } catch {
        throw PushAppsError(description: "certificateAuthorityFile is not PEM")
      }
    }
    allowsLoopback = file.allowsLoopback ?? false
  }

  /// The canonical form of an origin. The error does not quote it, like the names of files.
  private static func origin(
    _ text: String, _ provider: String, _ app: String
  ) throws(PushAppsError) -> String {
    guard let endpoint = HTTPSEndpoint(text), endpoint.url == endpoint.origin + "/" else {
      throw PushAppsError(
        description: "the origin of \(provider) for \(app) is not an https URL without a path")
    }
    return endpoint.origin
  }

  /// - Parameter what: names the file in the error. Not the name in the file of credentials:
  ///   somebody may have written the key itself there.
  private static func contents(of url: URL, _ what: String) throws(PushAppsError) -> [UInt8] {
    guard case .bytes(let bytes) = BoundedFile(path: url.path, limit: fileBytesMax) else {
      throw PushAppsError(description: "\(what) cannot be read")
    }
    return bytes
  }
}

/// Why a file of credentials cannot be used. Quotes no key.
public struct PushAppsError: Error, CustomStringConvertible {
  public let description: String

  fileprivate static func invalid(_ provider: String, _ app: String) -> PushAppsError {
    PushAppsError(description: "the credentials of \(provider) for \(app) are not valid")
  }
}
