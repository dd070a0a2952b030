import EmbeddedStack
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// Key sets from a URL: when they are fetched, what is refused, and what stays in use.
@Suite struct KeyURLTests {
  static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  @Test("only https is a key set's URL, or http on this machine")
  func urls() {
    for text in [
      "https://login.example/keys.json", "https://login.example:8443/.well-known/jwks.json?v=1",
      "http://127.0.0.1:80/k", "http://localhost/k", "http://[::1]:80/k", "HTTPS://a.example/",
    ] {
      #expect(keyURL(text) != nil, "\(text)")
    }
    for text in [
      "", "keys.json", "/etc/keys.json", "file:///etc/keys.json", "http://login.example/keys.json",
      "https://", "https:///keys", "http://127.0.0.1.evil.example/", "http://localhost.example/",
      "http://127.0.0.1@evil.example/", "https://user:secret@login.example/", "ftp://a.example/k",
      "https://a.example/#k", "http://127.0.0.2/",
    ] {
      #expect(keyURL(text) == nil, "\(text)")
    }
  }

  @Test("it is fetched on schedule, sooner after failures, and what could be used stays in use")
  func schedule() async throws {
    let good = try Tokens.ours.get().keySet()
    let answer = Mutex<Result<String, KeySetError>>(.failure(KeySetError("down")))
    let fetches = Mutex(0)
    let keys = KeyURL(logger: Self.logger) {
      fetches.withLock { $0 += 1 }
      return Data(try answer.withLock { $0 }.get().utf8)
    }
    let start = ContinuousClock.now
    var seconds = 0.0
    var count = 0
    func step(_ next: Double, fetches expected: Bool) async {
      seconds += next
      await keys.refresh(now: start + .seconds(seconds))
      count += expected ? 1 : 0
      #expect(fetches.withLock { $0 } == count, "at \(seconds) s")
    }
    await step(0, fetches: true)
    #expect(keys.keys == nil)
    for pause in [1.0, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
      await step(pause - 0.5, fetches: false)
      await step(0.5, fetches: true)
    }
    answer.withLock { $0 = .success(good) }
    await step(300, fetches: true)
    #expect(keys.keys?.keys.count == 4)
    for bad in ["", "{}", #"{"keys":[]}"#, String(good.dropLast(10))] {
      await step(299, fetches: false)
      answer.withLock { $0 = .success(bad) }
      await step(1, fetches: true)
      #expect(keys.keys?.keys.count == 4, "\(bad.prefix(20))")
      answer.withLock { $0 = .success(good) }
      await step(1, fetches: true)
    }
  }

  @Test("a token with an unknown key fetches the set at most every 30 s, and once for all who wait")
  func unknownKeys() async throws {
    let good = try Tokens.ours.get().keySet()
    let fetches = Mutex(0)
    let (gate, open) = AsyncStream<Void>.makeStream()
    let keys = KeyURL(logger: Self.logger) {
      fetches.withLock { $0 += 1 }
      for await _ in gate { break }
      return Data(good.utf8)
    }
    // Later than the requests below, which take the time of this machine.
    let start = ContinuousClock.now + .seconds(86_400)
    open.yield()
    await keys.refresh(now: start)
    await keys.refreshForUnknownKey(now: start + .seconds(29))
    #expect(fetches.withLock { $0 } == 1)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<100 {
        group.addTask { await keys.refreshForUnknownKey(now: start + .seconds(31)) }
      }
      open.yield()
    }
    #expect(fetches.withLock { $0 } == 2)
    // A token of another key of the set does not fetch it.
    let rules = TokenRules(issuer: Tokens.issuer, audience: Tokens.audience)
    let source = KeySource.url(keys)
    let token = "Bearer " + (try Tokens.ours.get().token("ann"))
    #expect(try await source.identity(token, rules).person == "ann")
    for (_, wrong) in try Tokens.wrong("ann") {
      await #expect(throws: Problem.self) { try await source.identity(wrong, rules) }
    }
    #expect(fetches.withLock { $0 } == 2)
  }

  @Test("nothing that a URL answers is too much, and no redirection is followed")
  func answers() async throws {
    let good = try Tokens.ours.get().keySet()
    let target = try await KeyServer(.answer(.ok, good))
    let server = try await KeyServer(.answer(.ok, good))
    defer {
      target.stop()
      server.stop()
    }
    let url = try #require(keyURL(server.url))
    #expect(try await keySetBytes(at: url) == Data(good.utf8))
    for behavior in [
      .answer(.notFound, good), .answer(.accepted, good), .redirect(target.url), .endless, .silence,
    ] as [KeyServer.Behavior] {
      server.set(behavior)
      await #expect(throws: (any Error).self, "\(behavior)") { try await keySetBytes(at: url) }
    }
    #expect(target.requests == 0)
  }

  @Test("a gateway is ready once it has keys, uses new ones soon, and old ones if the URL fails")
  func gateway() async throws {
    let server = try await KeyServer(.answer(.serviceUnavailable, ""))
    defer { server.stop() }
    let stack = try await GatewayStack(keys: ["--jwks-url", server.url])
    defer { stack.stop() }
    func status(_ authorization: String) async throws -> Int {
      try await stack.send("GET", "/v1/badge", authorization: authorization).status
    }
    func isReady() -> Bool {
      LocalHTTP.get("/readyz", port: stack.healthPort, timeoutSeconds: 60, bytesMax: 1 << 16)?
        .status == 200
    }
    let old = "Bearer " + (try Tokens.ours.get().token("ann"))
    let early = try await stack.send("GET", "/v1/badge", authorization: old)
    #expect(early.status == 503 && early.problem == "keys-unavailable", "\(early)")
    #expect(try await stack.send("GET", "/problems").status == 200)
    #expect(!isReady())
    server.set(.answer(.ok, try Tokens.ours.get().keySet()))
    try await eventually("the gateway is ready") { isReady() }
    #expect(try await status(old) == 200)
    // The next set: other keys under other names.
    let set = try Tokens.foreign.get().keySet().replacing("\"kid\":\"", with: "\"kid\":\"new-")
    server.set(.answer(.ok, set))
    let new =
      "Bearer "
      + (try Tokens.foreign.get().token(
        claims: Tokens.claims("ann"), header: ["alg": "ES256", "kid": "new-es256"]))
    try await eventually("a token of the new set is accepted") { try await status(new) == 200 }
    #expect(try await status(old) == 401)
    server.set(.answer(.internalServerError, ""))
    #expect(try await status(new) == 200)
    #expect(server.requests < 20)
  }
}
