import Foundation
import Testing

@testable import AlarmText

@Suite("Cleaning of hostile nicknames")
struct DisplayTextTests {
  static func clean(
    _ text: String, limits: TextLimits = .nickname
  ) -> (text: String, shape: DisplayText.Shape) {
    var text = text
    var result: [UInt8] = []
    let shape = text.withUTF8 {
      DisplayText.clean($0, limits: limits, ellipsis: Array("…".utf8), into: &result)
    }
    return (String(decoding: result, as: UTF8.self), shape)
  }

  @Test(
    "removed and preserved characters",
    arguments: [
      ("a\u{202E}b", "ab"), ("a\nb", "a b"), (" a \t\u{2028} b ", "a b"),
      ("a\u{200B}b\u{FEFF}", "ab"),
      ("\u{3164}\u{115F}", ""), ("\u{301}\u{301}", ""), ("\u{301}a", "a"), ("e\u{301}", "\u{E9}"),
      ("\u{212B}", "\u{C5}"), ("a\u{200D}b", "ab"), ("👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"), ("👩🏽‍🚀x", "👩🏽‍🚀x"),
      ("🏳️‍🌈", "🏳️‍🌈"), ("🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"), ("🏴\u{E0067}\u{E0062}", "🏴"), ("🇰🇷", "🇰🇷"), ("1️⃣", "1️⃣"),
      ("❤️", "❤️"), ("a\u{FE0F}", "a"), ("👨\u{200D}", "👨"), ("\u{200D}👨", "👨"),
      ("می\u{200C}خواهم", "می\u{200C}خواهم"), ("क्\u{200D}ष", "क्\u{200D}ष"), ("a\u{200C}b", "ab"),
      ("\u{1100}\u{200B}\u{1161}", "가"), ("田中　太郎", "田中　太郎"), ("\u{2800}", ""), ("x\u{0}y", "xy"),
      ("a\u{323}\u{301}\u{302}\u{303}\u{304}\u{305}", "ạ\u{301}\u{302}\u{303}\u{304}"),
      ("<b>{actor}%@", "<b>{actor}%@"), ("a\u{FFFF}\u{1FFFE}b", "ab"),
      ("\u{2FFFE}", "\u{FFFD}"), ("a\u{200D}\u{10FFFF}", "a\u{FFFD}"),
    ] as [(String, String)])
  func examples(input: String, expected: String) {
    #expect(Array(Self.clean(input).text.unicodeScalars) == Array(expected.unicodeScalars))
  }

  @Test("long text is cut between graphemes and ends in the ellipsis")
  func cutting() {
    let family = "👨‍👩‍👧‍👦"
    let limits = TextLimits(graphemes: 5, bytes: 1000)
    let long = String(repeating: family, count: 9)
    #expect(Self.clean(long, limits: limits).text == String(repeating: family, count: 4) + "…")
    let exact = String(repeating: family, count: 5)
    #expect(Self.clean(exact, limits: limits).text == exact)
    let narrow = TextLimits(graphemes: 100, bytes: 32)
    #expect(Self.clean(long, limits: narrow).text == family + "…")
    #expect(Self.clean("abcdef", limits: TextLimits(graphemes: 4, bytes: 99)).text == "abc…")
    let flag = "🏴󠁧󠁢󠁥󠁮󠁧󠁿"
    #expect(
      Self.clean("ab\(flag)cd", limits: TextLimits(graphemes: 4, bytes: 99)).text == "ab\(flag)…")
  }

  @Test("an ellipsis of several graphemes counts in full towards the limits")
  func longEllipsis() throws {
    let file = CatalogFile(name: "en.arb", bytes: Array(#"{"ellipsis": "..."}"#.utf8))
    let engine = try AlarmTextEngine(catalogs: [file])
    let long = String(repeating: "a", count: 100)
    let alarm = try engine.render(
      AlarmInput(code: .comment, actor: Actor(id: "a", nickname: long), headText: long),
      locale: "en")
    #expect(
      alarm.segments.filter { $0.kind != .text }.map(\.text)
        == [29, 77].map { String(repeating: "a", count: $0) + "..." })
  }

  @Test("the beginning of a longer text ends in the ellipsis, however little of it is visible")
  func beginning() throws {
    func text(_ head: String, isCut: Bool) throws -> String {
      try AlarmTextEngine.builtIn.render(
        AlarmInput(
          code: .comment, actor: Actor(id: "a", nickname: "Bo"), headText: head,
          isHeadTextCut: isCut),
        locale: "en"
      ).text
    }
    let head = "A" + String(repeating: "\n", count: 255)
    #expect(try text(head, isCut: true) == "Bo commented on your post: A…")
    #expect(try text(head, isCut: false) == "Bo commented on your post: A")
    #expect(try text("A", isCut: true) == "Bo commented on your post: A…")
    // What was cut off may belong to the last character.
    for end in ["🇰", "👍", "👨\u{200D}👩", "\u{1112}"] {
      #expect(try text("A b" + end, isCut: true) == "Bo commented on your post: A b…", "\(end)")
    }
    #expect(try text("A 👍 ", isCut: true) == "Bo commented on your post: A 👍…")
  }

  @Test("joiners that change the spelling stay, and bring no more marks onto a letter")
  func spelling() {
    for name in [
      "\u{9B0}\u{200D}\u{9CD}\u{9AF}\u{9BE}", "\u{CB0}\u{200D}\u{CCD}\u{CAF}",
      "\u{D28}\u{D4D}\u{200D}", "\u{D28}\u{D4D}\u{200D} \u{D28}", "क्\u{200D}ष",
    ] {
      #expect(Self.clean(name).text == name, "\(name.unicodeScalars)")
    }
    for stack in ["\u{94D}\u{200D}\u{93F}", "\u{200D}\u{94D}\u{93F}", "\u{D4D}\u{200D}"] {
      let cleaned = Self.clean("क" + String(repeating: stack, count: 50)).text
      #expect(cleaned.unicodeScalars.count < 12, "\(cleaned.unicodeScalars)")
      #expect(Self.clean(cleaned).text == cleaned)
    }
  }

  @Test("what a following letter would join is isolated, also behind other marks")
  func joining() {
    for name in ["क्", "क्\u{951}", "क्\u{93C}"] {
      #expect(Self.clean(name).shape.needsIsolation, "\(name.unicodeScalars)")
    }
    #expect(!Self.clean("क\u{951}").shape.needsIsolation)
  }

  @Test("cleaning is idempotent, and the fast path agrees with it")
  func stable() {
    let seed: UInt64 = 4711
    var random = Seeded(seed)
    for round in 0..<2_000 {
      let raw = HostileText.next(&random)
      let once = Self.clean(raw)
      let twice = Self.clean(once.text)
      #expect(
        Array(once.text.utf8) == Array(twice.text.utf8) && once.shape == twice.shape,
        "seed \(seed) round \(round) \(raw.debugDescription)")
      var copy = raw
      copy.withUTF8 { bytes in
        let fast = ScalarClasses.fast.withUnsafeBufferPointer {
          DisplayText.shapeIfClean(bytes, limits: .nickname, classes: $0)
        }
        if let fast {
          #expect(
            Array(bytes) == Array(once.text.utf8) && fast == once.shape,
            "seed \(seed) round \(round) \(raw.debugDescription)")
        }
      }
    }
  }

  @Test(
    "ordinary names of many scripts need no cleaning",
    arguments: [
      "나오", "Naphat W.", "ณัฐวุฒิ", "น้ำฝน", "ผู้ใหญ่", "محمد", "مُحَمَّد", "דנה", "田中 太郎", "李明", "Jürgen",
      "Nguyễn Văn",
      "😀 nao", "Иван", "Ελένη", "_x.k7_", "(Lv.25)",
    ])
  func ordinary(name: String) {
    var name = name.precomposedStringWithCanonicalMapping
    let isFast = name.withUTF8 { bytes in
      ScalarClasses.fast.withUnsafeBufferPointer {
        DisplayText.shapeIfClean(bytes, limits: .nickname, classes: $0) != nil
      }
    }
    #expect(isFast)
    #expect(Self.clean(name).text == name)
  }

  @Test("any bytes become valid UTF-8 within the bounds")
  func bytes() {
    var random = Seeded(99)
    for _ in 0..<2_000 {
      let bytes = (0..<Int.random(in: 0...400, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      var result: [UInt8] = []
      let shape = bytes.withUnsafeBufferPointer {
        DisplayText.clean($0, limits: .nickname, ellipsis: Array("…".utf8), into: &result)
      }
      let text = String(validating: result, as: UTF8.self)
      #expect(text?.utf16.count == shape.utf16Count)
      #expect(result.count <= TextLimits.nickname.bytes)
    }
  }

  @Test("normalization agrees with Foundation, scalar by scalar and for mixtures")
  func normalization() {
    func composed(_ text: String) -> [UInt32] {
      var scalars = text.unicodeScalars.map(\.value)
      Normalization.shared.compose(&scalars)
      return scalars
    }
    func expected(_ text: String) -> [UInt32] {
      text.precomposedStringWithCanonicalMapping.unicodeScalars.map(\.value)
    }
    #expect(composed("\u{1100}\u{1176}") == [0x1100, 0x1176])
    #expect(composed("\u{322}\u{F75}") == [0xF71, 0xF74, 0x322])
    #expect(composed("\u{314}\u{F81}\u{8D4}") == [0xF71, 0xF80, 0x314, 0x8D4])
    var random = Seeded(3)
    let interesting = (0...0x2FFFF).compactMap(Unicode.Scalar.init).filter {
      $0.properties.canonicalCombiningClass != .notReordered
        || Normalization.shared.base($0.value) != nil
    }
    for value in UInt32(0)...0x2FFFF {
      guard let scalar = Unicode.Scalar(value), HostileText.isKnownToFoundation(scalar) else {
        continue
      }
      let text = String(Character(scalar))
      let difference = composed(text) != expected(text)
      #expect(!difference, "U+\(String(value, radix: 16))")
    }
    for _ in 0..<4_000 {
      var text = ""
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        let scalar =
          Bool.random(using: &random)
          ? interesting.randomElement(using: &random) : HostileText.scalar(&random)
        if let scalar, HostileText.isKnownToFoundation(scalar) {
          text.unicodeScalars.append(scalar)
        }
      }
      let difference = composed(text) != expected(text)
      #expect(!difference, "\(text.unicodeScalars.map { String($0.value, radix: 16) })")
    }
  }
}
