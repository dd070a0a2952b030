import Crypto
import Devices
import Events
import Foundation
import Testing

@testable import Providers

@Suite struct WebhookTests {
  static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

  @Test("the signature is that of the reference implementations' example")
  func example() throws {
    let secret = try #require(Webhook.secret(Self.secret))
    #expect(
      Webhook.signatures(
        [secret], id: "msg_p5jXN8AQM9LWM0D4loKWxJek", seconds: 1_614_265_330,
        body: Array(#"{"test": 2432232314}"#.utf8))
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }

  static func destination(_ secrets: [String]) throws -> Webhook.Destination? {
    let list = secrets.map { #""\#($0)""# }.joined(separator: ",")
    return Webhook.Destination(
      try #require(
        DeviceToken(#"{"url":"https://hooks.example.com/m","secrets":[\#(list)]}"#)))
  }

  @Test("while a secret is replaced, both sign; a retry has a new time and the same id and body")
  func rotation() throws {
    let new = "whsec_" + Data((0..<32).map { UInt8($0) }).base64EncodedString()
    let destination = try #require(try Self.destination([new, Self.secret]))
    func request(_ now: EventTime) throws -> ProviderRequest {
      try Webhook.request(
        message(), to: device(.webhook), destination: destination, address: publicAddress(),
        now: now)
    }
    let (first, second) = (try request(noon), try request(later(5)))
    #expect(first.body == second.body)
    #expect(first.header("webhook-id") == second.header("webhook-id"))
    #expect(first.header("webhook-timestamp") == "1795435200")
    #expect(second.header("webhook-timestamp") == "1795435205")
    let signatures = try #require(first.header("webhook-signature")).split(separator: " ")
    #expect(signatures.count == 2 && signatures.allSatisfy { $0.hasPrefix("v1,") })
    #expect(signatures[0] != signatures[1])
    #expect(first.header("webhook-signature") != second.header("webhook-signature"))
    let payload = try object(first.body)
    #expect(payload["type"] as? String == "alarm.raised")
    #expect(payload["timestamp"] as? String == "2026-11-23T12:00:00Z")
  }

  @Test("secrets are 24 to 64 bytes, one or two")
  func secrets() throws {
    func secret(_ count: Int) -> String {
      "whsec_" + Data(repeating: 1, count: count).base64EncodedString()
    }
    #expect(try Self.destination([]) == nil)
    #expect(try Self.destination([secret(23)]) == nil)
    #expect(try Self.destination([secret(24)]) != nil)
    #expect(try Self.destination([secret(64), secret(24)]) != nil)
    #expect(try Self.destination([secret(65)]) == nil)
    #expect(try Self.destination([secret(24), secret(24), secret(24)]) == nil)
    #expect(try Self.destination([String(secret(24).dropFirst(6))]) == nil)
  }
}
