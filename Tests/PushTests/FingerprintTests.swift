import Devices
import Events
import Foundation
import Providers
import Testing

/// How a device is found that has moved to another person.
@Suite("Fingerprints")
struct FingerprintTests {
  private static func fingerprint(_ text: String, _ provider: PushProvider) throws -> [UInt8] {
    try TokenKeys(text: sampleKeys).fingerprint(
      of: try #require(DeviceToken(text)), provider: provider, app: "a")
  }

  @Test("digits of APNs count in any case, letters of FCM do not")
  func plain() throws {
    #expect(
      try Self.fingerprint("740f4707BEBCF74F", .apns)
        == Self.fingerprint("740F4707bebcf74f", .apns))
    #expect(try Self.fingerprint("Token:A", .fcm) != Self.fingerprint("token:a", .fcm))
  }

  @Test("a subscription is its endpoint, however it is written")
  func browsers() throws {
    let (browser, renewed) = (SampleBrowser(), SampleBrowser())
    let print = try Self.fingerprint(browser.token("https://push.example.net/a"), .webPush)
    let keys = browser.token("").dropFirst(#"{"endpoint":"","#.count)
    for text in [
      #"{"expirationTime": null, "endpoint": "https://PUSH.example.net:443/a", \#(keys)"#,
      renewed.token("https://push.example.net/a"),
    ] {
      #expect(try Self.fingerprint(text, .webPush) == print)
    }
    #expect(
      try Self.fingerprint(browser.token("https://push.example.net/A"), .webPush) != print)
  }

  @Test("a webhook is its URL, whatever its secrets")
  func webhooks() throws {
    func hook(_ url: String, _ byte: UInt8) throws -> [UInt8] {
      let secret = "whsec_" + Data(repeating: byte, count: 24).base64EncodedString()
      return try Self.fingerprint(#"{"url":"\#(url)","secrets":["\#(secret)"]}"#, .webhook)
    }
    #expect(try hook("https://h.test/a", 1) == hook("https://H.test/a", 2))
    #expect(try hook("https://h.test/?of=a", 1) != hook("https://h.test/?of=b", 1))
  }

  @Test("a browser's subscription that another person registers leaves the first one")
  func moved() throws {
    let world = try PushWorld()
    let browser = SampleBrowser()
    try world.register(token: browser.token("https://push.example.net/a"), provider: .webPush)
    world.pass(seconds: 1)
    let again = browser.token("https://push.example.net/a").replacing(":{", with: ": { ")
    try world.register(of: "bo", token: again, provider: .webPush)
    let owners = try world.admin.query("SELECT user_id FROM push_active_devices").map {
      try $0.text(0)
    }
    #expect(owners == ["bo"])
  }
}
