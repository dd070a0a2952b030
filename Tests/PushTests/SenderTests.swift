import Devices
import Events
import Foundation
import Lanes
import LocalProviders
import Logging
import Pushes
import Synchronization
import TestSupport
import Testing

@testable import Sending

/// The sender against a server of all providers, with claims of a database.
@Suite("Sender", .serialized)
struct SenderTests {
  /// Runs `body` beside a sender of the world's claims.
  private func sending(
    _ world: PushWorld, _ stage: LocalStage, metrics: Metrics = Metrics(),
    _ body: () async throws -> Void
  ) async throws {
    let keys = try TokenKeys(text: sampleKeys)
    let sender = try Sender(
      outbox: world.outbox, keys: keys, apps: PushApps(file: stage.config, keys: keys),
      metrics: metrics, logger: Logger(label: "test"))
    let running = Task { await sender.run() }
    defer { world.outbox.finish() }
    try await body()
    world.outbox.finish()
    await running.value
  }

  @Test("each provider takes an alert, and a removal after it", arguments: PushProvider.allCases)
  func accepted(provider: PushProvider) async throws {
    try await LocalStage.run { stage in
      let world = try PushWorld(at: EventTime.now.rfc3339)
      try world.apply(stage.registration(provider, of: "ann"))
      try world.like("bo", "p1")
      try await sending(world, stage) {
        try await eventually("the alert is accepted") {
          try world.run()
          return try world.claims() == ["phone alert accepted"]
        }
        let request = try #require(stage.server.requests.first)
        // Servers that strangers chose get HTTP/1.1.
        let isOwn = provider == .apns || provider == .fcm
        #expect(request.httpVersion == (isOwn ? "2" : "1.1"))
        if isOwn {
          let body = String(decoding: request.body, as: UTF8.self)
          #expect(body.contains(#""title":"Magpie""#), "the app's")
        }
        let address = LocalStage.address(provider)
        #expect(stage.server.screen(address).rings == 1)
        world.pass(seconds: 1)
        try world.apply(.alarmReadAll(.with { $0.user = "ann" }))
        try await eventually("the removal is accepted") {
          try world.run()
          return try world.claims() == ["phone removal accepted"]
        }
        #expect(stage.server.requests.count == 2)
        #expect(stage.server.screen(address).notifications.isEmpty)
        if provider != .webPush { #expect(stage.server.screen(address).badge == 0) }
      }
    }
  }

  @Test("a server that was restarted takes what a sender with the credentials from before sends")
  func restarted() async throws {
    try await LocalStage.run(isRestarted: true) { stage in
      let world = try PushWorld(at: EventTime.now.rfc3339)
      try world.apply(stage.registration(.apns, of: "ann"))
      try world.like("bo", "p1")
      try await sending(world, stage) {
        try await eventually("the alert is accepted") {
          try world.run()
          return try world.claims() == ["phone alert accepted"]
        }
      }
    }
  }

  @Test("a request whose answer is lost is made again with the same bytes, and shows nothing twice")
  func reset() async throws {
    try await LocalStage.run { stage in
      let world = try PushWorld(at: EventTime.now.rfc3339)
      try world.apply(stage.registration(.apns, of: "ann"))
      let count = Counter()
      stage.server.answer { _ in count.next() == 1 ? .reset : nil }
      try world.like("bo", "p1")
      try await sending(world, stage) {
        try await eventually("the first request has no answer") {
          try world.run()
          return stage.server.requests.count == 1 && world.outbox.underWay == 0
        }
        #expect(try world.claims() == ["phone alert claimed"])
        world.pass(seconds: 31)
        try await eventually("the second one is accepted") {
          try world.run()
          return try world.claims() == ["phone alert accepted"]
        }
      }
      let requests = stage.server.requests
      #expect(requests.count == 2 && requests[0].body == requests[1].body)
      #expect(requests[0].headers["apns-id"] == requests[1].headers["apns-id"])
      #expect(stage.server.screen(LocalStage.address(.apns)).notifications.count == 1)
    }
  }

  @Test(
    "a repetition lives as long as is left, under the same ids",
    arguments: [PushProvider.fcm, .webPush])
  func timeToLive(provider: PushProvider) async throws {
    try await LocalStage.run { stage in
      let world = try PushWorld(at: EventTime.now.rfc3339)
      try world.apply(stage.registration(provider, of: "ann"))
      world.pass(seconds: 1200)
      try world.like("bo", "p1")
      var claim = try #require(try await world.turn().first)
      // As if it had been claimed, and the alarm raised, some time ago.
      let minute = Int64(60_000_000)
      claim.claimedAt = EventTime(microseconds: claim.claimedAt.microseconds - 10 * minute)
      claim.message.expires = EventTime(microseconds: EventTime.now.microseconds + minute)
      let keys = try TokenKeys(text: sampleKeys)
      let sender = try Sender(
        outbox: world.outbox, keys: keys, apps: PushApps(file: stage.config, keys: keys),
        metrics: Metrics(), logger: Logger(label: "test"))
      #expect(await sender.outcome(of: claim) == .answer(.accepted))
      await sender.clients.shutdown()
      let sent = try #require(stage.server.requests.last)
      let android = (sent.json["message"] as? [String: Any])?["android"] as? [String: Any]
      let text = sent.headers["ttl"] ?? android?["ttl"] as? String
      let seconds = try #require(text.flatMap { Int($0.filter(\.isNumber)) })
      #expect(55...60 ~= seconds, "\(seconds)")
    }
  }

  @Test("the number of broken providers is up to date also while nothing is sent")
  func broken() async throws {
    try await LocalStage.run { stage in
      let world = try PushWorld(at: EventTime.now.rfc3339)
      for number in 0...10 {
        try world.register(of: "u\(number)", token: "abcdef\(1_000_000 + number)")
        try world.like("bo", "p\(number)", of: "u\(number)")
      }
      let claims = try await world.turn()
      for claim in claims.prefix(10) {
        world.outbox.note(Answered(claim, .unanswered(reason: "reset"), at: world.now))
      }
      let metrics = Metrics()
      try await sending(world, stage, metrics: metrics) {
        try await eventually("Apple is broken") { metrics.total(.pushBroken) == 1 }
        world.pass(seconds: 1)
        var last = try #require(claims.last)
        last.preparedAt = world.now
        world.outbox.note(Answered(last, .answer(.accepted), at: world.now))
        try await eventually("it works") { metrics.total(.pushBroken) == 0 }
        try world.run()
      }
      #expect(claims.count == 11 && stage.server.requests.isEmpty)
    }
  }

  @Test("a token that is gone is not used again, and a full provider is left alone")
  func refusals() async throws {
    try await LocalStage.run { stage in
      let world = try PushWorld(at: EventTime.now.rfc3339)
      try world.apply(stage.registration(.apns, of: "ann"))
      let milliseconds = EventTime.now.microseconds / 1000 + 1000
      stage.server.answer { _ in
        PushReply(410, #"{"reason":"Unregistered","timestamp":\#(milliseconds)}"#)
      }
      try world.like("bo", "p1")
      try await sending(world, stage) {
        try await eventually("the token is gone") {
          try world.run()
          return try world.claims() == ["phone alert gone"]
        }
        try world.like("bo", "p2")
        try world.run()
        #expect(stage.server.requests.count == 1)
        stage.server.answer { _ in PushReply(429, headers: ["retry-after": "120"]) }
        world.pass(seconds: 2)
        try world.apply(stage.registration(.webPush, of: "ann", installation: "browser"))
        try world.like("bo", "p3")
        try await eventually("the push service is full") {
          try world.run()
          return try world.claims().last == "browser alert waiting"
        }
        world.pass(seconds: 100)
        try world.run()
        #expect(stage.server.requests.count == 2)
        stage.server.answer { _ in nil }
        world.pass(seconds: 100)
        try await eventually("it is accepted") {
          try world.run()
          return try world.claims().last == "browser alert accepted"
        }
      }
    }
  }
}

/// Counts calls.
final class Counter: Sendable {
  private let calls = Mutex(0)

  var count: Int { calls.withLock { $0 } }

  func next() -> Int {
    calls.withLock {
      $0 += 1
      return $0
    }
  }
}
