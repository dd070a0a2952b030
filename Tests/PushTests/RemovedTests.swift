import Devices
import Events
import Foundation
import LocalProviders
import TestSupport
import Testing

@testable import Providers
@testable import Sending

/// Several ids in one removal.
@Suite("Removals of several", .serialized)
struct RemovedTests {
  private static func removal(_ others: Int) -> PushMessage {
    var removal = message(.removal, badge: 1_000_000)
    removal.kind = String(repeating: "k", count: 64)
    removal.alsoRemoved = (0..<others).map { _ in UUID() }
    return removal
  }

  private static func ids(_ message: PushMessage) -> [String] {
    ([message.notification] + message.alsoRemoved).map { $0.uuidString.lowercased() }
  }

  @Test("every id is in the payload, within every limit, and stays in the stored message")
  func payloads() throws {
    let removal = Self.removal(50)
    for (limit, encoded) in FittingTests.encodings {
      let fitted = try #require(removal.fitted(to: limit, encoded))
      #expect(fitted.message == removal && fitted.bytes.count <= limit)
    }
    let apns = try object(APNsTests.request(removal).body)
    #expect((apns["magpie"] as? [String: Any])?["remove"] as? [String] == Self.ids(removal))
    let sent = try object(FCMTests.request(removal).body)["message"] as? [String: Any]
    let data = try #require(sent?["data"] as? [String: String])
    #expect(data["magpie_remove"] == Self.ids(removal).joined(separator: ","))
    let hook = try object(Webhook.payload(removal).bytes)
    #expect((hook["data"] as? [String: Any])?["remove"] as? [String] == Self.ids(removal))
    #expect(PushMessage(stored: removal.stored) == removal)
    #expect(PushMessage(stored: message(.removal).stored) == message(.removal))
    // The most that is promised.
    #expect(Self.removal(60).removedIDs.count == 51)
  }

  @Test("a later alert of one id replaces no removal of others")
  func collapsing() throws {
    let (one, several) = (message(.removal), Self.removal(2))
    #expect(try APNsTests.request(one).header("apns-collapse-id") == Self.ids(one)[0])
    let request = try APNsTests.request(several)
    #expect(request.header("apns-collapse-id") == request.header("apns-id"))
    let (keys, browser) = (try SampleKeys(), SampleBrowser())
    func topic(_ message: PushMessage) throws -> String? {
      let subscription = try browser.subscription()
      return try WebPush.request(
        message, to: device(.webPush), subscription: subscription, address: publicAddress(),
        credentials: keys.webPush,
        authorization: WebPush.Authorization(
          keys.webPush, origin: subscription.endpoint.origin, now: noon), now: noon
      ).header("topic")
    }
    #expect(try topic(one) != nil && topic(several) == nil)
    // Whoever has seen the one must not take the other for a repetition.
    #expect(one.requestID(for: device(.webhook)) != several.requestID(for: device(.webhook)))
    #expect(several.requestID(for: device(.apns)) == several.requestID(for: device(.apns)))
  }

  @Test("all of them disappear from the screen", arguments: [PushProvider.apns, .fcm, .webhook])
  func screens(provider: PushProvider) async throws {
    try await LocalStage.run { stage in
      let world = try PushWorld(at: EventTime.now.rfc3339)
      try world.apply(stage.registration(provider, of: "ann"))
      try world.like("bo", "p1")
      let claim = try #require(try await world.turn().first)
      let keys = try TokenKeys(text: sampleKeys)
      let apps = try PushApps(file: stage.config, keys: keys)
      let sender = Sender(
        outbox: world.outbox, keys: keys, apps: apps, metrics: .init(), logger: .init(label: "test")
      )
      var shown: [UUID] = []
      for _ in 0..<3 {
        var alert = claim
        alert.message.notification = UUID()
        shown.append(alert.message.notification)
        #expect(await sender.outcome(of: alert) == .answer(.accepted))
      }
      let address = LocalStage.address(provider)
      #expect(stage.server.screen(address).notifications.count == 3)
      var removal = claim
      (removal.message.purpose, removal.message.badge) = (.removal, 0)
      (removal.message.notification, removal.message.alsoRemoved) = (shown[0], [shown[2]])
      #expect(await sender.outcome(of: removal) == .answer(.accepted))
      let left = shown[1].uuidString.lowercased()
      #expect(Array(stage.server.screen(address).notifications.keys) == [left])
      await sender.clients.shutdown()
    }
  }
}
