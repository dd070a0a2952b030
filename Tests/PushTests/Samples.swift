import Crypto
import Devices
import Events
import Foundation
import Testing

@testable import Providers

/// 2026-11-23T12:00:00Z.
let noon = EventTime(microseconds: 1_795_435_200_000_000)

func later(_ seconds: Int64) -> EventTime {
  EventTime(microseconds: noon.microseconds + seconds * 1_000_000)
}

let notification = UUID(
  uuid: (
    0x0B, 0x8A, 0x7E, 0x3E, 0x5F, 0x0F, 0x5D, 0x7E, 0x9D, 0x0A, 0x3F, 0x6A, 0x2C, 0x1D, 0x4E, 0x5F
  ))

func device(_ provider: PushProvider, installation: String = "phone") -> Device {
  Device(
    user: "somchai", installation: installation, provider: provider, app: "com.example.app")
}

func message(
  _ purpose: PushMessage.Purpose = .alert, title: String = "Magpie",
  body: String = "Ann liked your post", badge: Int? = 3
) -> PushMessage {
  PushMessage(
    purpose: purpose, notification: notification, version: 7, kind: "F01", title: title,
    body: body, spans: [PushMessage.Span(kind: "actor", start: 0, length: 3)],
    image: "https://example.com/ann.png", deepLink: "app://post/1", thread: "post-1",
    sound: "default", badge: badge, created: noon, expires: later(3600))
}

/// The members of a JSON object.
func object(_ bytes: some Sequence<UInt8>) throws -> [String: Any] {
  try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any] ?? [:]
}

/// The keys of all providers, made for one run.
struct SampleKeys {
  let team = P256.Signing.PrivateKey()
  let apns: APNs.Credentials
  let webPush: WebPush.Credentials

  init() throws {
    apns = try #require(
      APNs.Credentials(
        keyID: "ABC123DEFG", teamID: "DEF123GHIJ", topic: "com.example.app",
        pem: team.pemRepresentation))
    webPush = try #require(
      WebPush.Credentials(
        subject: "mailto:push@example.com",
        privateKey: base64URL(P256.Signing.PrivateKey().rawRepresentation),
        messageSecret: SymmetricKey(size: .bits256)))
  }
}

/// A browser that can decrypt what is sent to it.
struct SampleBrowser {
  let key = P256.KeyAgreement.PrivateKey()
  let authentication = Data((0..<16).map { _ in UInt8.random(in: 0...255) })

  /// The subscription as JSON.
  func token(_ endpoint: String) -> String {
    let (point, secret) = (base64URL(key.publicKey.x963Representation), base64URL(authentication))
    return #"{"endpoint":"\#(endpoint)","keys":{"p256dh":"\#(point)","auth":"\#(secret)"}}"#
  }

  func subscription(_ endpoint: String = "https://push.example.net/push/JzLQ3raZJfFB") throws
    -> WebPush.Subscription
  {
    let token = try #require(DeviceToken(self.token(endpoint)))
    return try #require(WebPush.Subscription(token))
  }
}

func publicAddress() throws -> PublicAddress {
  let address = try #require(IPAddress("93.184.215.14"))
  return try #require(PublicAddress(address))
}
