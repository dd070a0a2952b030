import Devices
import Events
import Foundation
import Lanes
import LocalProviders
import Logging
import Pushes
import TestSupport
import Testing

@testable import Providers
@testable import Sending

/// What one device's fault says about others.
@Suite("Scopes", .serialized)
struct ScopeTests {
  @Test("browsers are rated and broken by app and push service, webhooks by server")
  func scopes() throws {
    let browser = try #require(
      DeviceToken(SampleBrowser().token("https://Push.example.net:443/push/a")))
    #expect(browser.scope(at: .webPush, app: "web") == "web https://push.example.net")
    #expect(browser.scope(at: .webPush, app: "shop") == "shop https://push.example.net")
    let hook = try #require(
      DeviceToken(#"{"url":"https://Hook.test/a","secrets":["\#(LocalStage.webhookSecret)"]}"#))
    #expect(hook.scope(at: .webhook, app: "a") == "https://hook.test")
    #expect(try #require(DeviceToken("abcdef12")).scope(at: .apns, app: "a") == "a")
    #expect(hook.scope(at: .apns, app: "a") == nil && browser.scope(at: .webhook, app: "a") == nil)
  }

  /// The answer to a claim that ends without a request.
  private func outcome(_ claim: Claim, keys: String = sampleKeys) async throws -> ClaimOutcome {
    let sender = try Sender(
      outbox: Outbox(capacity: 1, rate: 1), keys: TokenKeys(text: keys), apps: PushApps(),
      metrics: Metrics(), logger: Logger(label: "test"))
    let outcome = await sender.outcome(of: claim)
    await sender.clients.shutdown()
    return outcome
  }

  @Test("neither a missing key nor a browser's unknown app stops the others")
  func oneBadDevice() async throws {
    let world = try PushWorld(at: EventTime.now.rfc3339)
    try world.register()
    try world.register(
      "browser", token: SampleBrowser().token("https://push.example.net/a"), provider: .webPush)
    try world.like("bo", "p1")
    let claims = try await world.turn()
    let phone = try #require(claims.first { $0.device.provider == .apns })
    let browser = try #require(claims.first { $0.device.provider == .webPush })
    let others = sampleKeys.replacingOccurrences(of: "seal test", with: "seal other")
    #expect(
      try await outcome(phone, keys: others)
        == .answer(.retry(reason: "unknown-key", after: .seconds(60))))
    #expect(
      try await outcome(phone)
        == .answer(.providerBroken(reason: "no-credentials", after: .seconds(60))))
    #expect(
      try await outcome(browser) == .answer(.retry(reason: "no-credentials", after: .seconds(60))))
  }
}
