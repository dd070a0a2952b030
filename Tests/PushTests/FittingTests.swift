import Devices
import Events
import Foundation
import TestSupport
import Testing

@testable import Providers

@Suite struct FittingTests {
  /// Graphemes of several code points or several bytes, and characters that JSON escapes.
  static let alphabets: [[String]] = [
    ["a", "b", "Z", " ", "1", "."],
    ["👨‍👩‍👧‍👦", "🇰🇷", "👍🏽", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "❤️‍🔥", "😀"],
    ["좋", "아", "요", " ", "\u{1112}\u{1161}\u{11AB}", "\u{1100}\u{1173}\u{11AF}"],
    ["م", "رْ", "حَ", "بًّا", " ", "ﷺ"],
    ["สวั", "ดี", "กำ", "ที่", "น้ำ", "เ"],
    ["नि", "क्षि", "த", "ணு"],
    ["\"", "\\", "\n", "\t", "\u{01}", "/"],
    ["\u{2068}Ann\u{2069}", "\u{2067}", "\u{2069}", " likes "],
    ["e\u{301}\u{302}\u{303}\u{304}", "x" + String(repeating: "\u{336}", count: 400)],
  ]

  static func text(
    _ count: Int, using generator: inout SeededGenerator,
    from alphabets: [[String]] = FittingTests.alphabets
  ) -> String {
    let alphabet =
      Bool.random(using: &generator)
      ? alphabets.flatMap { $0 } : alphabets.randomElement(using: &generator) ?? []
    return (0..<count).map { _ in alphabet.randomElement(using: &generator) ?? "" }.joined()
  }

  /// What a provider limits, and the limit.
  static let encodings: [(limit: Int, encoded: @Sendable (PushMessage) -> [UInt8])] = [
    (APNs.payloadBytesMax, { APNs.payload($0).bytes }),
    (FCM.messageBytesMax, { JSON.object(FCM.members($0, seconds: FCM.secondsMax)).bytes }),
    (WebPush.plaintextBytesMax, { JSON.object($0.allMembers).bytes }),
    (Webhook.bodyBytesMax, { Webhook.payload($0).bytes }),
  ]

  @Test("texts in any script are shortened to the limit, between graphemes")
  func scripts() throws {
    var generator = SeededGenerator()
    for _ in 0..<50 {
      let count = Int.random(in: 0...4000, using: &generator)
      var sent = message(
        title: Self.text(.random(in: 0...100, using: &generator), using: &generator),
        body: Self.text(count, using: &generator))
      sent.spans = (0..<20).map { PushMessage.Span(kind: "actor", start: $0 * 40, length: 20) }
      for (limit, encoded) in Self.encodings {
        let fitted = try #require(sent.fitted(to: limit, encoded), "seed \(generator.seed)")
        #expect(fitted.bytes.count <= limit, "seed \(generator.seed)")
        #expect(fitted.bytes == encoded(fitted.message))
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(fitted.bytes)) }
        if encoded(sent).count <= limit { #expect(fitted.message == sent) }
        try expectBeginning(fitted.message.body, of: sent.body, seed: generator.seed)
        try expectBeginning(fitted.message.title, of: sent.title, seed: generator.seed)
        let length = fitted.message.body.utf16.count
        if fitted.message.body != sent.body {
          #expect(fitted.message.spans.allSatisfy { $0.start + $0.length <= length })
        }
      }
    }
  }

  /// Whether it is the text, or empty, or whole graphemes of it, closed isolates and an ellipsis.
  private func expectBeginning(_ short: String, of text: String, seed: UInt64) throws {
    if short == text || short.isEmpty { return }
    #expect(short.hasSuffix("…"), "seed \(seed)")
    var kept = Array(short.dropLast())
    let whole = Array(text)
    while kept.last == "\u{2069}", !whole.starts(with: kept) { kept.removeLast() }
    #expect(whole.starts(with: kept), "seed \(seed)")
    #expect(isolates(in: short) <= 0, "seed \(seed)")
  }

  /// How many bidi isolates are left open.
  private func isolates(in text: String) -> Int {
    text.unicodeScalars.reduce(0) { open, scalar in
      switch scalar.value {
      case 0x2066...0x2068: open + 1
      case 0x2069: max(0, open - 1)
      default: open
      }
    }
  }

  @Test("a text is not shortened more than necessary, and what it costs is the last to go")
  func order() throws {
    let hangul = String(repeating: "좋", count: 20_000)
    for (limit, encoded) in Self.encodings {
      var sent = message(body: hangul)
      let fitted = try #require(sent.fitted(to: limit, encoded))
      // A syllable has three bytes.
      #expect(limit - fitted.bytes.count < 3)
      #expect(fitted.message.image != nil && fitted.message.deepLink != nil)
      sent.image = "https://example.com/" + String(repeating: "a", count: limit - 300)
      let withoutImage = try #require(sent.fitted(to: limit, encoded))
      #expect(withoutImage.message.image == nil && withoutImage.message.deepLink != nil)
      #expect(withoutImage.message.body.count > 40)
      sent.deepLink = "app://" + String(repeating: "a", count: limit)
      let withoutLink = try #require(sent.fitted(to: limit, encoded))
      #expect(withoutLink.message.deepLink == nil && withoutLink.message.body.count > 40)
      sent.title = String(repeating: "좋", count: limit)
      let shortTitle = try #require(sent.fitted(to: limit, encoded))
      #expect(shortTitle.message.title.hasSuffix("좋…") && shortTitle.bytes.count <= limit)
      sent.kind = String(repeating: "k", count: limit)
      #expect(sent.fitted(to: limit, encoded) == nil)
    }
  }

  @Test("the longest body that Web Push allows is encrypted in 4096 bytes")
  func webPush() throws {
    let (keys, browser) = (try SampleKeys(), SampleBrowser())
    let subscription = try browser.subscription()
    let request = try WebPush.request(
      message(body: String(repeating: "a", count: 9000)), to: device(.webPush),
      subscription: subscription, address: publicAddress(), credentials: keys.webPush,
      authorization: WebPush.Authorization(
        keys.webPush, origin: subscription.endpoint.origin, now: noon), now: noon)
    #expect(request.body.count == 4096)
  }
}
