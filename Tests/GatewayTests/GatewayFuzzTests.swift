import EmbeddedStack
import Foundation
import TestSupport
import Testing

@testable import Gateway

/// Bytes that are no requests, and requests that were damaged on the way, against a live gateway.
///
/// `MAGPIE_FUZZ_SECONDS` makes it longer, `MAGPIE_FUZZ_SEED` changes the seed.
@Suite struct GatewayFuzzTests {
  static let seconds = Double(ProcessInfo.processInfo.environment["MAGPIE_FUZZ_SECONDS"] ?? "") ?? 5
  static let seed =
    UInt64(ProcessInfo.processInfo.environment["MAGPIE_FUZZ_SEED"] ?? "") ?? 20_261_123

  @Test("every answer is whole and blames the client, and the next request is served")
  func requests() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    var random = SeededGenerator(seed: Self.seed)
    let token = try Tokens.ours.get().token("ann")
    let corpus = Self.corpus(token)
    let end = ContinuousClock.now + .seconds(Self.seconds)
    var (answered, refused, closed) = (0, 0, 0)
    while ContinuousClock.now < end || answered + closed < 400 {
      let request =
        Int.random(in: 0..<5, using: &random) == 0
        ? Self.noise(&random) : Self.damaged(corpus, &random)
      guard let answer = try await exchange(request, port: stack.port) else {
        closed += 1
        continue
      }
      answered += 1
      let shown = "\(String(decoding: request.prefix(2_000), as: UTF8.self)): \(answer)"
      #expect(answer.status < 500, "\(shown)")
      #expect(answer.bytes.count == answer.headers["content-length"].flatMap { Int($0) } ?? 0)
      if 400..<500 ~= answer.status {
        refused += 1
        #expect(answer.problem != nil, "\(shown)")
        #expect(!answer.body.contains(token.suffix(40)), "\(shown)")
      }
      if answered % 50 == 0 {
        let next = try await stack.send("GET", "/v1/badge", as: "ann")
        #expect(next.status == 200, "after \(shown)")
      }
      #expect(stack.gateway.isRunning, "\(shown)")
    }
    #expect(refused > 100 && closed < answered, "\(answered), \(refused), \(closed)")
    let next = try await stack.send("GET", "/v1/badge", as: "ann")
    #expect(next.status == 200)
  }

  @Test("whatever a target or a header says, decoding it ends, with a problem or what it says")
  func decoding() async throws {
    var random = SeededGenerator(seed: Self.seed)
    let pieces = [
      "/", "v1", "posts", "%", "%2F", "%00", "%ff", "%C3%A9", "?", "&", "=", "+", "a", "é", "..",
      "likes/0@1", ",", "@", "9223372036854775808", "-1", "q=", ";", "gzip", "*", "0.5", "Bearer ",
      ".", "e30", "\u{0}", "\u{202E}", " ", "\"", "W/", "T", ":", "Z", "2026-11-23", "1.2.3.4",
      "::1", "[",
    ]
    let end = ContinuousClock.now + .seconds(Self.seconds / 5)
    let rules = TokenRules(issuer: Tokens.issuer, audience: Tokens.audience)
    let keys = try await KeySet(json: Data(Tokens.ours.get().keySet().utf8))
    var decoded = 0
    while ContinuousClock.now < end || decoded < 1_000 {
      let text = (0..<Int.random(in: 0..<24, using: &random)).map { _ in
        pieces.randomElement(using: &random) ?? ""
      }.joined()
      if let target = try? RequestTarget("/" + text) {
        #expect(!(target.segments + target.query.values).contains { $0.utf8.contains(0) })
        _ = try? Resource(target.segments)
      }
      if let positions = try? Position.all(in: text) {
        #expect(positions.count <= GatewayLimits.positions)
        #expect(
          try Position.all(in: positions.map(\.description).joined(separator: ",")) == positions)
      }
      _ = try? ContentCoding(accepted: text, bytes: 1_000)
      _ = ClientAddress(peer: nil, forwardedFor: text, trustedProxies: 1)
      #expect((try? CrossOrigin(text)) == nil || !text.contains("*"))
      #expect((try? rules.identity(authorization: "Bearer " + text, keys: keys)) == nil)
      _ = LiveStream.tags(text)
      decoded += 1
    }
  }

  /// A valid request of each route but the stream, which does not end.
  private static func corpus(_ token: String) -> [[UInt8]] {
    Route.all.filter { $0.path.text != "/v1/stream" }.map { route in
      var head = "\(route.method.rawValue) \(ScreenTests.path(route.path)) HTTP/1.1\r\nHost: t\r\n"
      head += "Authorization: Bearer \(token)\r\nAccept-Encoding: gzip;q=0.5, *;q=0\r\n"
      head += "Magpie-Time: 2026-11-23T07:00:00Z\r\nIdempotency-Key: k\r\nIf-None-Match: \"a\"\r\n"
      head += "Origin: https://a.example\r\nX-Forwarded-For: 1.2.3.4\r\nConnection: close\r\n"
      guard case .action(let action) = route.endpoint, let body = ActionTests.body(action) else {
        return Array((head + "\r\n").utf8)
      }
      let length = "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
      return Array((head + length + body).utf8)
    }
  }

  private static func noise(_ random: inout SeededGenerator) -> [UInt8] {
    let highest: UInt8 = Bool.random(using: &random) ? 255 : 127
    let bytes = (0..<Int.random(in: 1..<3_000, using: &random)).map { _ in
      UInt8.random(in: 0...highest, using: &random)
    }
    return Bool.random(using: &random) ? bytes : Array("GET /v1/home HTTP/1.1\r\n".utf8) + bytes
  }

  /// One or two requests of the corpus after a few mutations.
  private static func damaged(
    _ corpus: [[UInt8]], _ random: inout SeededGenerator
  ) -> [UInt8] {
    var bytes = corpus.randomElement(using: &random) ?? []
    let interesting = Array("\r\n :;,%{}[]\"\\0123456789-/?&=\u{0}\u{7F}".utf8) + [0x80, 0xFF]
    for _ in 0..<Int.random(in: 1..<8, using: &random) {
      guard !bytes.isEmpty else { break }
      let place = Int.random(in: 0..<bytes.count, using: &random)
      let length = min(Int.random(in: 1..<40, using: &random), bytes.count - place)
      switch Int.random(in: 0..<8, using: &random) {
      case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes[place] = interesting.randomElement(using: &random) ?? 0
      case 2: bytes.insert(interesting.randomElement(using: &random) ?? 0, at: place)
      case 3: bytes.removeSubrange(place..<place + length)
      case 4: bytes.insert(contentsOf: bytes[place..<place + length], at: place)
      case 5: bytes.removeSubrange(place...)
      case 6:
        let other = corpus.randomElement(using: &random) ?? []
        bytes = bytes.prefix(place) + other.suffix(Int.random(in: 0...other.count, using: &random))
      default:
        let line = Array("\r\nX-\(place): \(String(repeating: "a", count: place))".utf8)
        let end = Data(bytes).range(of: Data("\r\n".utf8))?.lowerBound ?? 0
        bytes.insert(contentsOf: line, at: end)
      }
    }
    return bytes
  }
}
