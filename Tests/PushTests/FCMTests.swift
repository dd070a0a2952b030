import Crypto
import CryptoExtras
import Devices
import Events
import Foundation
import Testing

@testable import Providers

@Suite struct FCMTests {
  static let key = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

  static func credentials() throws -> FCM.Credentials {
    let file = [
      "type": "service_account", "project_id": "magpie-1", "private_key_id": "k1",
      "private_key": try key.get().pkcs8PEMRepresentation,
      "client_email": "push@magpie-1.iam.gserviceaccount.com",
      "token_uri": "https://oauth2.googleapis.com/token",
    ]
    return try #require(FCM.Credentials(json: Array(try JSONEncoder().encode(file))))
  }

  static func access(_ token: String = "ya29.a", expiresIn: Int = 3599) -> FCM.AccessToken? {
    let body = #"{"access_token":"\#(token)","expires_in":\#(expiresIn),"token_type":"Bearer"}"#
    return FCM.accessToken(ProviderResponse(status: 200, body: Array(body.utf8)), now: noon)
  }

  static func request(_ message: PushMessage, now: EventTime = noon) throws -> ProviderRequest {
    try FCM.request(
      message, token: try #require(DeviceToken("bk3RNwTe3H0:CI2k_HHwg")),
      credentials: credentials(), authorization: try #require(access()), now: now)
  }

  @Test("an access token is asked for with an assertion that the account signed")
  func assertion() throws {
    let request = try FCM.accessRequest(Self.credentials(), now: noon)
    #expect(request.url == "https://oauth2.googleapis.com/token")
    let form = String(decoding: request.body, as: UTF8.self)
    let match = try #require(
      form.wholeMatch(
        of: /grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=(\S+)/))
    let parts = match.1.split(separator: ".").map(String.init)
    let claims = try object(try #require(base64URLDecoded(parts[1])))
    #expect(claims["iss"] as? String == "push@magpie-1.iam.gserviceaccount.com")
    #expect(claims["aud"] as? String == "https://oauth2.googleapis.com/token")
    #expect(claims["iat"] as? Int == 1_795_435_200 && claims["exp"] as? Int == 1_795_438_800)
    let signature = _RSA.Signing.RSASignature(
      rawRepresentation: try #require(base64URLDecoded(parts[2])))
    #expect(
      try Self.key.get().publicKey.isValidSignature(
        signature, for: Data("\(parts[0]).\(parts[1])".utf8), padding: .insecurePKCS1v1_5))
  }

  @Test("an access token is used until five minutes before its end")
  func access() throws {
    let token = try #require(Self.access())
    #expect(!token.isDue(now: later(3298)) && token.isDue(now: later(3299)))
    #expect(Self.access("") == nil && Self.access("a b") == nil)
    #expect(try #require(Self.access(expiresIn: -1)).isDue(now: noon))
    #expect(FCM.accessToken(ProviderResponse(status: 400), now: noon) == nil)
  }

  @Test("an alert's request")
  func alert() throws {
    let request = try Self.request(message(), now: later(60))
    #expect(request.url == "https://fcm.googleapis.com/v1/projects/magpie-1/messages:send")
    #expect(request.header("authorization") == "Bearer ya29.a")
    let expected = [
      #"{"message":{"token":"bk3RNwTe3H0:CI2k_HHwg","notification":{"title":"Magpie","#,
      #""body":"Ann liked your post","image":"https://example.com/ann.png"},"data":{"#,
      #""magpie_id":"0b8a7e3e-5f0f-5d7e-9d0a-3f6a2c1d4e5f","magpie_version":"7","#,
      #""magpie_kind":"F01","magpie_link":"app://post/1","#,
      #""magpie_spans":"[[\"actor\",0,3]]"},"android":{"priority":"HIGH","ttl":"3540s","#,
      #""notification":{"tag":"0b8a7e3e-5f0f-5d7e-9d0a-3f6a2c1d4e5f","sound":"default","#,
      #""notification_count":3}}}}"#,
    ].joined()
    #expect(String(decoding: request.body, as: UTF8.self) == expected)
  }

  @Test("a removal and a badge are data for the app, and nothing that is shown")
  func silent() throws {
    for purpose in [PushMessage.Purpose.removal, .badge] {
      let body = try object(try Self.request(message(purpose, badge: 0)).body)
      let sent = try #require(body["message"] as? [String: Any])
      #expect(sent["notification"] == nil)
      let data = try #require(sent["data"] as? [String: String])
      #expect(data["magpie_badge"] == "0")
      #expect((data["magpie_remove"] != nil) == (purpose == .removal))
      let android = try #require(sent["android"] as? [String: String])
      let collapses = purpose == .badge ? ["collapse_key": "badge"] : [:]
      #expect(android == collapses.merging(["priority": "NORMAL", "ttl": "3600s"]) { $1 })
    }
  }

  @Test("a repetition has the time to live that is left, and the same texts to the byte")
  func repetition() throws {
    func sent(_ now: EventTime) throws -> [String: Any] {
      let body = try Self.request(message(body: String(repeating: "a", count: 5000)), now: now).body
      return try #require(try object(body)["message"] as? [String: Any])
    }
    var (first, second) = (try sent(noon), try sent(later(3598)))
    #expect((first["android"] as? [String: Any])?["ttl"] as? String == "3600s")
    #expect((second["android"] as? [String: Any])?["ttl"] as? String == "2s")
    (first["android"], second["android"]) = (nil, nil)
    #expect(NSDictionary(dictionary: first) == NSDictionary(dictionary: second))
  }

  @Test("the time to live is at most four weeks")
  func timeToLive() throws {
    var long = message()
    long.expires = later(86_400 * 365)
    let sent = try object(try Self.request(long).body)["message"] as? [String: Any]
    #expect((sent?["android"] as? [String: Any])?["ttl"] as? String == "2419200s")
  }
}
