import Crypto
import Devices
import Events
import Foundation
import Testing

@testable import Providers

@Suite struct APNsTests {
  static let token = DeviceToken("00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0")

  static func request(_ message: PushMessage, now: EventTime = noon) throws -> ProviderRequest {
    let keys = try SampleKeys()
    return try APNs.request(
      message, to: device(.apns), token: try #require(token), credentials: keys.apns,
      authorization: APNs.ProviderToken(keys.apns, now: now), now: now)
  }

  @Test("an alert's request")
  func alert() throws {
    let request = try Self.request(message())
    #expect(
      request.url == "https://api.push.apple.com/3/device/" + (try #require(Self.token).revealed))
    let expected = [
      "apns-topic": "com.example.app", "apns-push-type": "alert", "apns-priority": "10",
      "apns-id": "dc0a7606-5ed1-5f18-81ac-497e00d0f170",
      "apns-collapse-id": "0b8a7e3e-5f0f-5d7e-9d0a-3f6a2c1d4e5f",
      "apns-expiration": "1795438800",
    ]
    for (name, value) in expected { #expect(request.header(name) == value, "\(name)") }
    let body = [
      #"{"aps":{"alert":{"title":"Magpie","body":"Ann liked your post"},"sound":"default","#,
      #""thread-id":"post-1","interruption-level":"active","mutable-content":1,"badge":3},"#,
      #""magpie":{"id":"0b8a7e3e-5f0f-5d7e-9d0a-3f6a2c1d4e5f","version":7,"kind":"F01","#,
      #""link":"app://post/1","image":"https://example.com/ann.png","spans":[["actor",0,3]]}}"#,
    ].joined()
    #expect(String(decoding: request.body, as: UTF8.self) == body)
  }

  @Test("a badge makes no sound; a removal without a badge is a background notification")
  func silent() throws {
    let badge = try Self.request(message(.badge, badge: 0))
    #expect(badge.header("apns-push-type") == "alert" && badge.header("apns-priority") == "5")
    #expect(badge.header("apns-collapse-id") == "badge")
    #expect(try object(badge.body)["aps"] as? [String: Int] == ["badge": 0])
    let removal = try Self.request(message(.removal, badge: nil))
    #expect(removal.header("apns-push-type") == "background")
    #expect(removal.header("apns-priority") == "5")
    #expect(try object(removal.body)["aps"] as? [String: Int] == ["content-available": 1])
  }

  @Test("the provider token is signed for the team, and renewed every 20 to 60 minutes")
  func providerToken() throws {
    let keys = try SampleKeys()
    let token = try APNs.ProviderToken(keys.apns, now: noon)
    let parts = token.text.split(separator: ".").map(String.init)
    let header = try object(try #require(base64URLDecoded(parts[0])))
    #expect(header as? [String: String] == ["alg": "ES256", "kid": "ABC123DEFG"])
    let claims = try object(try #require(base64URLDecoded(parts[1])))
    #expect(claims["iss"] as? String == "DEF123GHIJ" && claims["iat"] as? Int == 1_795_435_200)
    let signature = try P256.Signing.ECDSASignature(
      rawRepresentation: try #require(base64URLDecoded(parts[2])))
    #expect(
      keys.team.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
    for (minutes, refused, isDue) in [
      (0, false, false), (39, false, false), (40, false, true), (19, true, false),
      (20, true, true), (-1, false, true),
    ] as [(Int64, Bool, Bool)] {
      #expect(token.isDue(now: later(minutes * 60), isRefused: refused) == isDue, "\(minutes)")
    }
  }

  @Test("what has expired, or has no hexadecimal token, is not sent")
  func refusals() throws {
    #expect(throws: Unsendable.expired) { try Self.request(message(), now: later(3600)) }
    let keys = try SampleKeys()
    for text in ["0", "../../3/device/00fc13ad", "00fc13ad?", "00fc13ag"] {
      let token = try #require(DeviceToken(text))
      #expect(throws: Unsendable.malformedToken) {
        try APNs.request(
          message(), to: device(.apns), token: token, credentials: keys.apns,
          authorization: APNs.ProviderToken(keys.apns, now: noon), now: noon)
      }
    }
  }

  @Test("each version, purpose and installation has a request id of its own")
  func ids() throws {
    var next = message()
    next.version += 1
    let ids = [
      message().requestID(for: device(.apns)), next.requestID(for: device(.apns)),
      message(.removal).requestID(for: device(.apns)),
      message().requestID(for: device(.apns, installation: "tablet")),
      message().requestID(for: device(.fcm)),
    ]
    #expect(Set(ids).count == ids.count)
    #expect(message(badge: 9).requestID(for: device(.apns)) == ids[0])
  }

  @Test("neither a request nor credentials show a token")
  func secrecy() throws {
    let request = try Self.request(message())
    let secret = try #require(Self.token).revealed
    var dumped = ""
    dump((request, try SampleKeys().apns), to: &dumped)
    for text in ["\(request)", String(reflecting: request), dumped] {
      #expect(!text.contains(secret) && !text.contains("bearer") && !text.contains("DEF123"))
    }
  }
}
