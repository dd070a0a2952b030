import Kinds
import Testing

@testable import AlarmText

@Suite("Sentences with arguments, and without an actor")
struct ArgumentTests {
  /// An engine with one more kind, F77.
  private func engine(
    _ kind: String, _ messages: [String: String]
  ) throws(CatalogError) -> AlarmTextEngine {
    try AlarmTextEngine(
      catalogs: messages.sorted { $0.key < $1.key }.map { locale, message in
        var json = JSONWriter()
        json.object { $0.member("raid", message) }
        return CatalogFile(name: "\(locale).arb", bytes: json.bytes)
      },
      kinds: [
        CatalogFile(
          name: "kinds.json",
          bytes: Array(#"{"F77": {"name": "raid", "message": "raid", \#(kind)}}"#.utf8))
      ])
  }

  private func failure(_ kind: String, _ message: String) -> String {
    do {
      _ = try engine(kind, ["en": message])
      return "accepted"
    } catch { return error.description }
  }

  private static let title = #""arguments": {"title": {"type": "text", "bytes": 64}}"#
  private static let raid = #"""
    "arguments": {"title": {"type": "text", "bytes": 64}, "viewers": {"type": "number"}}
    """#

  @Test("kind F77 from a directory with an argument and a plural renders in all eleven languages")
  func newKind() throws {
    let messages = [
      "en":
        "{viewers, plural, one{{actor} brings # viewer to “{title}”} other{{actor} brings # viewers to “{title}”}}",
      "ko":
        "{viewers, plural, other{{actor}님이 시청자 #명과 함께 ‘{title}’{titleFinal, select, vowel{를} consonant{을} rieul{을} other{을(를)}} 찾았습니다}}",
      "th": "{viewers, plural, other{{actor} พาผู้ชม # คนมาที่ “{title}”}}",
      "ja": "{viewers, plural, other{{actor}さんが視聴者#人と「{title}」に来ました}}",
      "zh-Hans": "{viewers, plural, other{{actor} 带着 # 位观众来到“{title}”}}",
      "zh-Hant": "{viewers, plural, other{{actor} 帶著 # 位觀眾來到「{title}」}}",
      "vi": "{viewers, plural, other{{actor} đưa # người xem đến “{title}”}}",
      "id": "{viewers, plural, other{{actor} membawa # penonton ke “{title}”}}",
      "es":
        "{viewers, plural, one{{actor} trae # espectador a “{title}”} many{{actor} trae # de espectadores a “{title}”} other{{actor} trae # espectadores a “{title}”}}",
      "ar":
        "{viewers, plural, zero{{actor} في «{title}»} one{{actor} ومشاهد في «{title}»} two{{actor} ومشاهدان في «{title}»} few{{actor} و# مشاهدين في «{title}»} many{{actor} و# مشاهدًا في «{title}»} other{{actor} و# مشاهد في «{title}»}}",
      "he":
        "{viewers, plural, one{{actor} עם צופה אחד ב\"{title}\"} two{{actor} עם שני צופים ב\"{title}\"} other{{actor} עם # צופים ב\"{title}\"}}",
    ]
    let engine = try engine(Self.raid, messages)
    #expect(Set(messages.keys) == Set(engine.locales))
    let kind = try #require(engine.kind(named: "raid"))
    func text(_ locale: String, _ viewers: String, title: String = "봄밤") throws -> String {
      let alarm = try engine.render(
        AlarmInput(
          code: kind.code, actor: Actor(id: "a", nickname: "나오"),
          arguments: ["title": title, "viewers": viewers]), locale: locale)
      #expect(alarm.locale == locale)
      #expect(OlderClient.shows(alarm.legacy) == Array(alarm.text.utf16))
      #expect(alarm.segments.contains { $0.kind == .argument && $0.text == title })
      return alarm.text
    }
    #expect(try text("en", "1") == "나오 brings 1 viewer to “봄밤”")
    #expect(try text("en", "1234") == "나오 brings 1,234 viewers to “봄밤”")
    #expect(try text("ko", "2") == "나오님이 시청자 2명과 함께 ‘봄밤’을 찾았습니다")
    #expect(try text("ko", "2", title: "노래") == "나오님이 시청자 2명과 함께 ‘노래’를 찾았습니다")
    #expect(try text("ko", "2", title: "春") == "나오님이 시청자 2명과 함께 ‘春’을(를) 찾았습니다")
    #expect(try text("ja", "2") == "나오さんが視聴者2人と「봄밤」に来ました")
    #expect(try text("es", "2000000") == "나오 trae 2.000.000 de espectadores a “봄밤”")
    #expect(
      try text("ar", "5")
        == "\u{2068}나오\u{2069} و٥ مشاهدين في «\u{2068}봄밤\u{2069}»")
    #expect(try text("he", "2") == "\u{2068}나오\u{2069} עם שני צופים ב\"\u{2068}봄밤\u{2069}\"")
    for locale in engine.locales {
      let three = try text(locale, "3")
      #expect(three.contains("봄밤") && three.contains(locale == "ar" ? "٣" : "3"), "\(three)")
    }
  }

  @Test("an argument is its own segment, cleaned, bounded and isolated like a name")
  func hostile() throws {
    let engine = try engine(Self.title, ["en": "{actor} raids {title}!"])
    func alarm(_ title: String?) throws -> RenderedAlarm {
      try engine.render(
        AlarmInput(
          code: try #require(AlarmCode(77)), actor: Actor(id: "a", nickname: "A"),
          arguments: title.map { ["title": $0] } ?? [:]), locale: "en")
    }
    #expect(try alarm("x\u{202E}\ny").text == "A raids x y!")
    let hebrew = try alarm("שלום")
    #expect(hebrew.text == "A raids \u{2068}שלום\u{2069}!")
    #expect(hebrew.spans.last == Span(start: 9, length: 4, kind: .argument))
    #expect(hebrew.html.hasSuffix("raids <bdi class=\"argument\">שלום</bdi>!"))
    let long = try #require(
      alarm(String(repeating: "é", count: 1000)).segments.first { $0.kind == .argument })
    #expect(long.text.count == TextLimits.argument.graphemes && long.text.hasSuffix("…"))
    // Nothing visible: the ellipsis stands for it.
    for nothing in [nil, "", "\u{200B}\u{3164}"] {
      #expect(try alarm(nothing).text == "A raids …!")
    }
  }

  @Test("an optional argument selects another sentence")
  func optional() throws {
    let kind = try #require(AlarmTextEngine.builtIn.kind(named: "broadcast"))
    func text(_ station: String?, _ locale: String) throws -> String {
      var input = AlarmInput(
        code: kind.code, actor: Actor(id: "a", nickname: "나오"), arguments: ["title": "봄밤"])
      input.arguments["station"] = station
      return try AlarmTextEngine.builtIn.render(input, locale: locale).text
    }
    #expect(try text(nil, "en") == "나오 started the live broadcast “봄밤”")
    #expect(try text("none", "en") == "나오 started the live broadcast “봄밤” on none")
    #expect(try text(nil, "ko") == "나오님이 라이브 방송 ‘봄밤’을 시작했습니다")
    #expect(try text("M1", "ko") == "나오님이 M1에서 라이브 방송 ‘봄밤’을 시작했습니다")
    #expect(try text("\u{200B}", "ko") == "나오님이 라이브 방송 ‘봄밤’을 시작했습니다")
  }

  @Test("a kind whose actor is optional has a sentence for both cases, counted")
  func optionalActor() throws {
    let engine = AlarmTextEngine.builtIn
    let gift = try #require(engine.kind(named: "gift")).code
    let coins = try #require(engine.kind(named: "gift-amount")).code
    let mina = Actor(id: "m", nickname: "Mina")
    func text(_ input: AlarmInput) throws -> String {
      let alarm = try engine.render(input, locale: "en")
      return alarm.text
    }
    #expect(try text(AlarmInput(code: gift, actor: nil)) == "You received a gift")
    #expect(
      try text(AlarmInput(code: gift, actor: nil, actorCount: 5, count: 3))
        == "You received 3 gifts")
    #expect(try text(AlarmInput(code: gift, actor: mina)) == "Mina sent you a gift")
    #expect(
      try text(AlarmInput(code: gift, actor: mina, actorCount: 4))
        == "Mina and 3 others sent you gifts")
    #expect(
      try text(AlarmInput(code: coins, actor: nil, headText: "hi", arguments: ["amount": "1"]))
        == "You received 1 coin: hi")
    // A kind that needs an actor names Someone if there is none.
    #expect(try text(AlarmInput(code: .like, actor: nil)) == "Someone likes your post")
  }

  @Test("numbers of any size are formatted, and a value that is no number counts as 0")
  func numbers() throws {
    let engine = try engine(
      #""actor": "none", "arguments": {"n": {"type": "number"}}"#,
      ["en": "{n, plural, offset:1 =5{five} one{# one} other{#}} {n}"])
    func text(_ n: String?) throws -> String {
      try engine.render(
        AlarmInput(
          code: try #require(AlarmCode(77)), actor: nil, arguments: n.map { ["n": $0] } ?? [:]),
        locale: "en"
      ).text
    }
    #expect(try text("5") == "five 5")
    #expect(try text("2") == "1 one 2")
    #expect(
      try text("9223372036854775807") == "9,223,372,036,854,775,806 9,223,372,036,854,775,807")
    #expect(try text("-9223372036854775808").hasSuffix(" -9,223,372,036,854,775,808"))
    for invalid in [nil, "", "x", "9999999999999999999"] {
      #expect(try text(invalid) == "-1 one 0")
    }
  }

  @Test(
    "messages that do not fit their kind are rejected when they are loaded",
    arguments: [
      (title, "{title} by {actor}", "{actor} must come before {title}"),
      (title, "{actors, plural, =1{{title}} other{x}} {actor}", "{actor} must come before {title}"),
      (
        title, "{actor} {titel}",
        "the arguments are actor, other, actors, count, actorFinal, otherFinal, title, titleFinal"
      ),
      (title, "{actor} {title, plural, other{x}}", "\"plural\" cannot be used with \"title\""),
      (title, "{actor} {titleFinal}", "can only be used in a select"),
      (title, "{actor} {actorFinal, select, none{x} other{y}}", "found \"none\""),
      (raid, "{actor} {viewers, select, other{x}}", "\"select\" cannot be used"),
      (
        #""actor": "none""#, "{actor} is here",
        "\"actor\" cannot be used: alarms of this kind name nobody"
      ),
      (#""actor": "none""#, "{actors, plural, =0{x} other{y}}", "\"actors\" cannot be used"),
      (
        #""actor": "optional""#, "{actor} is here", "\"actor\" cannot be used if there are 0 actors"
      ),
      (#""actor": "optional""#, "{actors, plural, one{x} other{{actor}}}", "branch =0"),
      (#""actor": "optional""#, "{actors, plural, =0{{actor}} other{x}}", "branch =0"),
      (#""actor": "optional""#, "{actors, plural, =0{x} other{{actor}}}", "accepted"),
      (title, "{actor} {titleFinal, select, none{x} other{{title}}}", "accepted"),
    ] as [(String, String, String)])
  func rejected(kind: String, message: String, expected: String) {
    let found = failure(kind, message)
    #expect(found.contains(expected), "\(found)")
    #expect(found == "accepted" || found.contains("en.arb:1:2: raid"), "\(found)")
  }

  @Test("a registry that takes an argument from a built-in kind is rejected with the message")
  func replaced() {
    let registry = #"{"F37": {"name": "badge", "message": "badge", "actor": "none"}}"#
    let error = #expect(throws: CatalogError.self) {
      try AlarmTextEngine(
        kinds: [CatalogFile(name: "kinds.json", bytes: Array(registry.utf8))])
    }
    #expect(error?.file == "en.arb" && error?.key == "badge")
    #expect(error?.message.hasPrefix("unknown argument \"badge\"") == true)
  }
}
