import Foundation
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// Buckets, addresses, and what a gateway answers beyond its limits.
@Suite struct RateLimitTests {
  @Test("a bucket grants its burst, then its rate, whatever the times between")
  func rates() {
    var random = SeededGenerator()
    for _ in 0..<50 {
      // A bucket of one token would be full, and lose some, before the next request comes.
      let perSecond = Int.random(in: 2...50, using: &random)
      let burst = Double(Int.random(in: 1...10, using: &random))
      var buckets = Buckets<Int>(perSecond: perSecond, seconds: burst, keys: 10)
      var (now, granted) = (Double.random(in: 0...1000, using: &random), 0)
      let begin = now
      for _ in 0..<2_000 {
        now += Double.random(in: 0...2 / Double(perSecond) / 3, using: &random)
        let before = granted
        guard let wait = buckets.take(1, now: now) else {
          granted += 1
          continue
        }
        #expect(wait > 0 && wait <= 1 / Double(perSecond) + 1e-9)
        // The wait is as long as it has to be, and not longer.
        var copy = buckets
        #expect(copy.take(1, now: now + wait - 1e-3) != nil || wait < 1.1e-3)
        #expect(copy.take(1, now: now + wait) == nil && granted == before)
      }
      let most = (now - begin + burst) * Double(perSecond)
      #expect(
        Double(granted) <= most + 1e-6 && Double(granted) >= most - 2 - Double(perSecond) * burst)
    }
  }

  @Test("buckets are independent, bounded in number, and failures put one into a bounded debt")
  func bounds() {
    var buckets = Buckets<Int>(perSecond: 1, seconds: 3, keys: 100)
    for _ in 0..<3 { #expect(buckets.take(-1, now: 0) == nil) }
    #expect(buckets.take(-1, now: 0) != nil)
    for key in 0..<10_000 {
      #expect(buckets.take(key, now: 0) == nil)
      #expect(buckets.count <= 100)
      // Whoever keeps asking is not forgotten.
      let wait = buckets.take(-2, now: 0)
      #expect((wait == nil) == (key < 3))
    }
    for _ in 0..<1_000 { buckets.charge(7, tokens: 20, now: 0) }
    #expect(buckets.take(7, now: 3) != nil && buckets.take(7, now: 7) == nil)
  }

  @Test("only what trusted proxies added is believed")
  func addresses() throws {
    func address(_ peer: String, _ forwarded: String?, _ proxies: Int) throws -> ClientAddress {
      ClientAddress(
        peer: try SocketAddress(ipAddress: peer, port: 1), forwardedFor: forwarded,
        trustedProxies: proxies)
    }
    let proxy = "10.0.0.1"
    for (forwarded, proxies, expected) in [
      (nil, 0, proxy), ("1.2.3.4", 0, proxy), ("1.2.3.4", 1, "1.2.3.4"),
      ("6.6.6.6, 1.2.3.4", 1, "1.2.3.4"), ("6.6.6.6, 1.2.3.4, 10.0.0.2", 2, "1.2.3.4"),
      ("1.2.3.4", 2, "1.2.3.4"), (nil, 1, proxy), ("", 1, proxy), ("unknown", 1, proxy),
      ("6.6.6.6,unknown", 1, proxy), ("1.2.3.4:5678", 1, "1.2.3.4"),
      ("[2001:db8::1]:80", 1, "2001:db8::1"),
      ("2001:db8::1", 1, "2001:db8::1"), ("2001:db8::ffff:1", 1, "2001:db8::1"),
      ("::ffff:1.2.3.4", 1, "1.2.3.4"), (" 1.2.3.4 ", 1, "1.2.3.4"),
      (String(repeating: "1", count: 9_000), 1, proxy),
    ] as [(String?, Int, String)] {
      #expect(
        try address(proxy, forwarded, proxies) == address(expected, nil, 0),
        "\(forwarded ?? "none") behind \(proxies)")
    }
    #expect(try address("2001:db8::1", nil, 0) != address("2001:db8:0:1::1", nil, 0))
  }

  @Test("beyond a limit the answer is 429 with the seconds to wait, for that person alone")
  func people() async throws {
    let stack = try await GatewayStack(arguments: ["--requests-per-second-per-person", "1"])
    defer { stack.stop() }
    var limited: Answer?
    for _ in 0..<1_000 where limited == nil {
      let answer = try await stack.send("GET", "/v1/badge", as: "ann")
      if answer.status == 200 { continue }
      limited = answer
    }
    #expect(limited?.status == 429 && limited?.problem == "rate-limited", "\(limited as Any)")
    #expect(limited?.headers["retry-after"] == "1")
    #expect(try await stack.send("GET", "/v1/badge", as: "bob").status == 200)
    #expect(try await stack.send("GET", "/problems").status == 200)
    try await eventually("the person may ask again") {
      try await stack.send("GET", "/v1/badge", as: "ann").status == 200
    }
  }

  @Test("failed identities use up an address soon, and no other address; forged ones do not help")
  func failures() async throws {
    let stack = try await GatewayStack(
      arguments: ["--requests-per-second-per-address", "1", "--trusted-proxies", "1"])
    defer { stack.stop() }
    var statuses: [Int] = []
    var last: Answer?
    while statuses.count < 100, last?.status != 429 {
      let forged = "10.\(statuses.count).0.1, 1.2.3.4"
      last = try await stack.send(
        "GET", "/v1/badge", authorization: "Bearer x", headers: ["X-Forwarded-For": forged])
      statuses.append(last?.status ?? 0)
    }
    // 10 at once, and the first failure takes 20: what follows waits for 10 s. A slow machine may need longer for one
    // or two.
    #expect(statuses.count < 10 && statuses.dropLast().allSatisfy { $0 == 401 }, "\(statuses)")
    #expect(last?.problem == "rate-limited")
    try await eventually("a valid token does not help an address that guesses") {
      let same = ["X-Forwarded-For": "1.2.3.4"]
      _ = try await stack.send("GET", "/v1/badge", authorization: "Bearer x", headers: same)
      return try await stack.send("GET", "/v1/badge", as: "ann", headers: same).status == 429
    }
    let other = try await stack.send(
      "GET", "/v1/badge", as: "ann", headers: ["X-Forwarded-For": "1.2.3.4, 5.6.7.8"])
    #expect(other.status == 200, "\(other)")
  }

  @Test("what clients do not take is bounded, for one person and for all, whatever the order")
  func untakenResponses() throws {
    var settings = RateLimits.Settings()
    (settings.responseBytes, settings.responseBytesPerPerson) = (100, 30)
    let limits = RateLimits(settings)
    func take(_ bytes: Int, _ person: String) -> (place: Place?, code: Problem.Code?) {
      do throws(Problem) {
        return (try limits.response(bytes, of: person), nil)
      } catch {
        return (nil, error.code)
      }
    }
    // None is too large for somebody who has taken everything.
    #expect(take(80, "ann").code == nil && take(300, "ann").code == nil)
    var held = [take(20, "ann").place, take(10, "ann").place]
    #expect(held.allSatisfy { $0 != nil } && take(1, "ann").code == .rateLimited)
    held += ["bob", "cat"].map { take(30, $0).place }
    #expect(held.allSatisfy { $0 != nil } && take(11, "eve").code == .overloaded)
    let last = take(10, "eve")
    #expect(last.code == nil && take(1, "dan").code == .overloaded)
    held.removeAll()
    withExtendedLifetime(last.place) { #expect(take(30, "ann").code == nil) }
  }

  @Test("actions that Kafka has not acknowledged are bounded, for one person and for all")
  func unacknowledgedActions() throws {
    let limits = RateLimits(RateLimits.Settings())
    func take(_ bytes: Int, _ person: String) throws(Problem) -> Place {
      try limits.action(bytes, of: person)
    }
    let each = GatewayLimits.actionBytesPerPerson
    // However small they are.
    var held = try (0..<each / GatewayLimits.actionBytesMin).map { _ in try take(0, "ann") }
    #expect(#expect(throws: Problem.self) { try take(0, "ann") }?.code == .rateLimited)
    held += try (1..<GatewayLimits.actionBytes / each).map { try take(each, "person \($0)") }
    #expect(#expect(throws: Problem.self) { try take(0, "bob") }?.code == .overloaded)
    held.removeAll()
    withExtendedLifetime(try take(each, "ann")) {
      // What is announced and does not arrive takes nothing from others, however much it is.
      withExtendedLifetime(try? limits.body(each, of: "bob")) { announced in
        #expect(announced != nil)
        #expect(throws: Problem.self) { try limits.body(.max, of: "bob") }
      }
      #expect(throws: Problem.self) { try take(.max, "ann") }
      #expect((try? take(each, "bob")) != nil)
    }
  }

  @Test("one stream too many ends the person's oldest, but none that has just begun")
  func oldestStream() throws {
    var streams = OpenStreams(limit: 2)
    let ended = Mutex<[String]>([])
    func open(_ name: String, of person: String = "ann", at now: Double) -> UInt64? {
      let end = { @Sendable in ended.withLock { $0.append(name) } }
      switch streams.open(Array(person.utf8), now: now, end: end) {
      case .opened(let id, let endOldest):
        endOldest?()
        return id
      case .refused(let seconds):
        #expect(seconds > 0)
        return nil
      }
    }
    let first = try #require(open("first", at: 0))
    let second = try #require(open("second", at: 10))
    let age = GatewayLimits.streamSecondsMin
    let early = open("early", at: age - 1)
    let other = open("other", of: "bob", at: age - 1)
    #expect(early == nil && other != nil && ended.withLock { $0 }.isEmpty)
    #expect(open("third", at: age) != nil && ended.withLock { $0 } == ["first"])
    // Its end frees no place of another stream.
    streams.close(first, of: Array("ann".utf8))
    #expect(open("early", at: age + 1) == nil)
    streams.close(second, of: Array("ann".utf8))
    #expect(open("fourth", at: age + 1) != nil && ended.withLock { $0 } == ["first"])
    var unlimited = OpenStreams(limit: 0)
    for _ in 0..<100 {
      guard case .opened(_, nil) = unlimited.open([], now: 1e6, end: {}) else {
        Issue.record("a stream was refused, or ended another one")
        return
      }
    }
  }

  @Test(
    "a person has so many streams: one more ends the oldest, and there is a place once one ends")
  func streams() async throws {
    let stack = try await GatewayStack(arguments: ["--streams-per-person", "2"])
    defer { stack.stop() }
    let token = "Bearer " + (try Tokens.ours.get().token("ann"))
    let start = ContinuousClock.now
    let oldest = try EventSource(stack, authorization: token)
    try await eventually("the first is open") { oldest.text.contains("retry:") }
    let second = try EventSource(stack, authorization: token)
    try await eventually("both are open") { second.text.contains("retry:") }
    let refused = try await EventSource(stack, authorization: token).answered()
    if ContinuousClock.now - start < .seconds(GatewayLimits.streamSecondsMin) {
      #expect(refused.text.contains("429") && refused.text.contains("rate-limited"))
    }
    refused.close()
    var third: EventSource?
    try await eventually("one more is open") {
      third = try await EventSource(stack, authorization: token).answered()
      return third?.text.contains("retry:") == true
    }
    // The connection stays open for further requests; the stream's last chunk ends it.
    try await eventually("the oldest has ended") { oldest.text.hasSuffix("0\r\n\r\n") }
    let streams = [second, try #require(third)]
    #expect(streams.allSatisfy { !$0.text.hasSuffix("0\r\n\r\n") })
    let bob = try EventSource(
      stack, authorization: "Bearer " + (try Tokens.ours.get().token("bob")))
    try await eventually("another person's is open") { bob.text.contains("retry:") }
    streams[0].close()
    var again: EventSource?
    try await eventually("there is a place again") {
      again = try await EventSource(stack, authorization: token).answered()
      return again?.text.contains("retry:") == true
    }
    for stream in [oldest, streams[1], bob, again].compactMap({ $0 }) { stream.close() }
  }
}
