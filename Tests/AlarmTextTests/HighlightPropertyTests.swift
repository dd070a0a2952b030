import Foundation
import Testing

@testable import AlarmText

/// Whole sentences, to use as nicknames.
enum AlarmSentences {
  static let all: [String] = {
    let engine = AlarmTextEngine.builtIn
    return engine.locales.flatMap { locale in
      engine.kinds.compactMap { kind in
        try? engine.render(
          AlarmInput(code: kind.code, actor: Actor(id: "a", nickname: "A")), locale: locale
        ).legacy.message
      }
    }
  }()
}

@Suite("Highlights stay exact whatever a nickname contains")
struct HighlightPropertyTests {
  let engine = AlarmTextEngine.builtIn

  @Test(
    "every locale, kind and count with generated nicknames and head texts",
    arguments: AlarmTextEngine.builtIn.locales)
  func everything(locale: String) throws {
    let seed: UInt64 = 20_261_121
    var random = Seeded(seed)
    for round in 0..<8 {
      for kind in engine.kinds {
        let input = AlarmInput.hostile(kind, &random)
        let alarm = try engine.render(input, locale: locale)
        let problems = Self.problems(alarm, input)
        #expect(
          problems.isEmpty,
          "seed \(seed), round \(round), \(locale) \(kind.name): \(problems) in \(alarm.text.debugDescription)"
        )
        if !problems.isEmpty { return }
      }
    }
  }

  static func problems(_ alarm: RenderedAlarm, _ input: AlarmInput) -> [String] {
    var problems: [String] = []
    func check(_ condition: Bool, _ problem: String) { if !condition { problems.append(problem) } }
    let text = alarm.text
    let units = Array(text.utf16)

    // Spans cover exactly the displayed text on grapheme boundaries; at least one is an actor.
    let marked = alarm.segments.filter { $0.kind != .text }
    check(marked.count == alarm.spans.count, "span count")
    var boundaries: Set<Int> = [0]
    for character in text {
      boundaries.insert((boundaries.max() ?? 0) + character.utf16.count)
    }
    for (segment, span) in zip(marked, alarm.spans) {
      let slice = units[span.start..<span.start + span.length]
      check(Array(slice) == Array(segment.text.utf16), "span text")
      check(boundaries.contains(span.start), "the start of \(segment) is inside a grapheme")
      check(boundaries.contains(span.start + span.length), "the end is inside a grapheme")
    }
    let isNamed = marked.contains { $0.kind == .actor && $0.actorID == input.actor?.id }
    check(isNamed == (input.actor != nil), "an actor is not named, or nobody is")

    // Names and head text contain no active characters and are bounded; isolates surround and pair.
    for (index, segment) in alarm.segments.enumerated() {
      let scalars = segment.text.unicodeScalars
      check(!segment.text.isEmpty, "an empty segment")
      switch segment.kind {
      case .text, .count:
        check(!scalars.contains { "<>\u{202E}".unicodeScalars.contains($0) }, "stray syntax")
      case .argument where isNumber(segment.text): break
      case .actor, .head, .argument:
        check(!scalars.contains(where: isActive), "an active character in \(segment.kind)")
        let limits: TextLimits =
          switch segment.kind {
          case .actor: .nickname
          case .head: .headText
          default: .argument
          }
        check(segment.text.count <= limits.graphemes, "too many graphemes")
        check(segment.text.utf8.count <= limits.bytes, "too many bytes")
        check(
          !scalars.allSatisfy(HostileText.isKnownToFoundation)
            || Array(segment.text.precomposedStringWithCanonicalMapping.unicodeScalars)
              == Array(scalars),
          "not NFC")
        let before = index > 0 ? alarm.segments[index - 1].text.unicodeScalars.last : nil
        let after =
          index + 1 < alarm.segments.count
          ? alarm.segments[index + 1].text.unicodeScalars.first : nil
        check((before == "\u{2068}") == (after == "\u{2069}"), "unpaired isolate")
        let mustIsolate =
          alarm.direction == .rightToLeft
          || scalars.contains(where: ScalarClasses.isRightToLeft)
        check(!mustIsolate || before == "\u{2068}", "not isolated")
      }
    }
    let isolates = text.unicodeScalars.filter { $0 == "\u{2068}" || $0 == "\u{2069}" }
    check(
      isolates.enumerated().allSatisfy { ($0.element == "\u{2068}") == ($0.offset % 2 == 0) },
      "isolates do not alternate")

    check(
      OlderClient.shows(alarm.legacy) == Array(text.utf16), "the older client shows another text")
    guard input.actor != nil else {
      check(alarm.legacy.fromNickName.isEmpty, "the older client finds a name")
      return problems
    }
    let found = (alarm.legacy.message as NSString).range(of: "<\(alarm.legacy.fromNickName)>")
    let actor = alarm.spans.first { $0.kind == .actor && $0.actorID == input.actor?.id }
    check(found.location == actor?.start, "the older client finds a different position")
    check(
      found.length == (actor?.length ?? 0) + 2, "the older client colours a different length")
    return problems
  }

  /// A formatted number; some languages put direction marks around its sign.
  private static func isNumber(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy {
      $0.properties.numericType != nil
        || "-\u{2212}.,\u{66C}\u{A0}\u{61C}\u{200E}".unicodeScalars.contains($0)
    }
  }

  static func isActive(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0...0x1F, 0x7F...0x9F, 0x61C, 0x200B, 0x200E, 0x200F, 0x2028...0x202E, 0x2060...0x206F,
      0xFEFF, 0x3164, 0x115F, 0x1160, 0xFFA0, 0x34F, 0xAD:
      true
    default: false
    }
  }

  @Test("a right-to-left nickname is isolated in a left-to-right sentence, outside its span")
  func isolation() throws {
    let alarm = try engine.render(
      AlarmInput(code: .like, actor: Actor(id: "a", nickname: "דנה!")), locale: "en")
    #expect(alarm.text == "\u{2068}דנה!\u{2069} likes your post")
    #expect(alarm.spans == [Span(start: 1, length: 4, kind: .actor, actorID: "a")])
    #expect(alarm.legacy.message == "\u{2068}<דנה!>\u{2069} likes your post")
  }

  @Test("what stands for an unknown person is isolated where it would join the sentence, too")
  func joiningFallback() throws {
    let catalog = "{\"someone\": \"\u{915}\u{94D}\", \"like\": \"{actor}\u{915}\"}"
    let engine = try AlarmTextEngine(
      catalogs: [CatalogFile(name: "hi.arb", bytes: Array(catalog.utf8))])
    let alarm = try engine.render(AlarmInput(code: .like, actor: nil), locale: "hi")
    #expect(alarm.spans.map { [$0.start, $0.length] } == [[1, 2]])
    #expect(alarm.text.utf16.count == 5)
  }

  @Test("the JSON of segments and spans equals the values")
  func json() throws {
    var random = Seeded(7)
    for _ in 0..<150 {
      let alarm = try engine.render(
        AlarmInput(
          code: .comment, actor: Actor(id: "i\"\\\n\u{1F600}", nickname: HostileText.next(&random)),
          headText: HostileText.next(&random)), locale: "th")
      let segments =
        try JSONSerialization.jsonObject(with: Data(alarm.segmentsJSON)) as? [[String: String]]
      #expect(segments?.compactMap { $0["text"] } == alarm.segments.map(\.text))
      #expect(segments?.compactMap { $0["actor"] } == ["i\"\\\n\u{1F600}"])
      let spans = try JSONSerialization.jsonObject(with: Data(alarm.spansJSON)) as? [[String: Any]]
      #expect(spans?.compactMap { $0["start"] as? Int } == alarm.spans.map(\.start))
    }
  }
}
