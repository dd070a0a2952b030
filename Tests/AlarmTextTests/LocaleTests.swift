import Testing

@testable import AlarmText

@Suite("Finding a reader's catalog")
struct LocaleTests {
  @Test(
    "BCP-47 tags fall back to the nearest catalog, then to the default",
    arguments: [
      ("ko", "ko"), ("ko-KR", "ko"), ("KO_kr", "ko"), ("ko-Kore-KR", "ko"), ("ko-KP", "ko"),
      ("zh", "zh-Hans"), ("zh-CN", "zh-Hans"), ("zh-SG", "zh-Hans"), ("zh-TW", "zh-Hant"),
      ("zh-HK", "zh-Hant"), ("zh-MO", "zh-Hant"), ("zh-Hant", "zh-Hant"), ("zh-Hant-CN", "zh-Hant"),
      ("zh-hans-tw", "zh-Hans"), ("zh_TW.UTF-8", "zh-Hant"), ("cmn-Hant", "zh-Hant"),
      ("yue", "zh-Hant"),
      ("zh-yue", "zh-Hant"), ("zh-Hant-TW-x-private", "zh-Hant"), ("iw", "he"), ("iw-IL", "he"),
      ("in", "id"), ("es-419", "es"), ("es-MX", "es"), ("ar-EG-u-nu-latn", "ar"), ("th-TH", "th"),
      ("en-GB-oxendict", "en"), ("vi-VN", "vi"), ("ja-JP", "ja"), ("fr-FR", "en"), ("", "en"),
      ("und", "en"), ("x-klingon", "en"), ("🇰🇷", "en"), ("k", "en"), ("kor", "ko"),
      (String(repeating: "ko-", count: 40), "en"),
    ] as [(String, String)])
  func lookup(tag: String, expected: String) {
    let engine = AlarmTextEngine.builtIn
    #expect(engine.name(of: engine.localeID(tag)) == expected)
  }

  @Test("a default locale without a catalog is refused, and the error names what to do")
  func unknownDefault() {
    var configuration = AlarmTextEngine.Configuration()
    configuration.defaultLocale = "ko-KR"
    do {
      _ = try AlarmTextEngine(configuration: configuration)
      Issue.record("accepted")
    } catch {
      let text = error.description
      #expect(text.hasPrefix("ko-KR.arb: ") && text.contains("--default-locale is ko-KR"))
      #expect(text.contains("--catalog-dir, or name one of en, "), "\(text)")
    }
  }

  @Test("an operator's regional catalog is preferred, and falls back message by message")
  func regional() throws {
    let file = CatalogFile(
      name: "conf/es-MX.arb", bytes: Array(#"{"like": "A {actor} le late tu post"}"#.utf8))
    let engine = try AlarmTextEngine(catalogs: [file])
    let actor = Actor(id: "a", nickname: "Ana")
    #expect(engine.name(of: engine.localeID("es-MX")) == "es-MX")
    #expect(
      try engine.render(AlarmInput(code: .like, actor: actor), locale: "es-MX").text
        == "A Ana le late tu post")
    let follow = try engine.render(AlarmInput(code: .follow, actor: actor), locale: "es-MX")
    #expect(follow.text == "Ana empezó a seguirte")
    #expect(follow.locale == "es")
    let unknown = AlarmInput(code: .like, actor: Actor(id: "a", nickname: nil))
    #expect(try engine.render(unknown, locale: "es-MX").text == "A Alguien le late tu post")
  }

  @Test(
    "an operator's Chinese catalog is preferred to the built-in one of its script",
    arguments: [
      ("zh-TW", ["zh-TW", "zh_Hant_TW"], ["zh-HK", "zh-Hant", "zh-Hans-TW"]),
      ("zh-CN", ["zh-CN", "zh-Hans-CN"], ["zh-SG", "zh"]), ("zh", ["zh"], ["zh-TW", "zh-Hans"]),
    ])
  func chinese(catalog: String, readers: [String], others: [String]) throws {
    let file = CatalogFile(name: "\(catalog).arb", bytes: Array(#"{"like": "{actor} 讚"}"#.utf8))
    let engine = try AlarmTextEngine(catalogs: [file])
    let input = AlarmInput(code: .like, actor: Actor(id: "a", nickname: "Mina"))
    for (locales, isTheirs) in [(readers, true), (others, false)] {
      for locale in locales {
        #expect(
          try (engine.render(input, locale: locale).text == "Mina 讚") == isTheirs, "\(locale)")
      }
    }
  }

  @Test("a catalog's script decides its direction")
  func direction() throws {
    let file = CatalogFile(name: "pa-Arab.arb", bytes: Array(#"{"like": "{actor} A"}"#.utf8))
    let engine = try AlarmTextEngine(catalogs: [file])
    #expect(engine.direction(of: engine.localeID("pa-Arab-PK")) == .rightToLeft)
    #expect(engine.direction(of: engine.localeID("zh-TW")) == .leftToRight)
  }
}
