import Foundation
import Testing

@testable import AlarmText

@Suite("Agreement with ICU, byte for byte")
struct ICUAgreementTests {
  static let finals = ["vowel": "나오", "consonant": "지민", "rieul": "서울", "other": "@王"]
  static let numbers = [
    1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 20, 21, 22, 99, 100, 101, 102, 103, 111, 112, 999, 1000,
    1001, 1002, 1234, 9_999, 12_345, 100_000, 1_000_000, 1_000_001, 2_000_000, 2_000_001,
    12_345_678, 1_234_567_890,
  ]

  /// Compares every pattern of a catalog file over a grid of counts, final sounds and arguments.
  static func compare(_ file: CatalogFile, against engine: AlarmTextEngine) throws -> Int {
    let catalog = try Catalog(file)
    var compared = 0
    for (key, message) in catalog.messages where !Catalog.plainKeys.contains(key) {
      let icu = try #require(ICUPattern(message.text, locale: catalog.locale))
      if let kind = engine.kinds.first(where: { $0.severalKey == key }) {
        for number in numbers {
          let text = engine.text(ofSeveral: kind.code, count: number, locale: catalog.locale)
          #expect(
            icu.format(["alarms": .number(number)]) == text.map { Array($0.utf8) },
            "\(catalog.locale) \(key) \(number) \(text ?? "none")")
        }
        continue
      }
      let kind = try #require(engine.kinds.first { $0.messageKey == key })
      func uses(_ text: String) -> Bool { message.text.contains(text) }
      let actors = !uses("{actors") ? [1] : kind.actor == .optional ? [0] + numbers : numbers
      let counts = uses("{count") ? [1, 2, 3, 5, 11, 100, 1234, 1_000_000] : [1]
      let ownNumbers = kind.arguments.contains { $0.type == .number }
      for actors in kind.actor == .none ? [0] : actors {
        for count in counts {
          for (final, name) in uses("Final") ? finals : ["vowel": "나오"] {
            for number in ownNumbers ? [0, -1, -1234] + numbers : [0] {
              for isAbsent in kind.arguments.contains(where: \.isOptional)
                ? [true, false] : [false]
              {
                let input = AlarmInput(
                  code: kind.code, actor: actors == 0 ? nil : Actor(id: "a", nickname: name),
                  other: Actor(id: "b", nickname: name), actorCount: actors, count: count)
                compare(
                  input, with: icu, engine, kind, catalog.locale,
                  Own(text: name, final: final, number: number, isAbsent: isAbsent))
                compared += 1
              }
            }
          }
        }
      }
    }
    return compared
  }

  private struct Own {
    var text: String
    var final: String
    var number: Int
    /// Whether optional arguments are absent.
    var isAbsent: Bool
  }

  private static func compare(
    _ input: AlarmInput, with icu: ICUPattern, _ engine: AlarmTextEngine, _ kind: AlarmKind,
    _ locale: String, _ own: Own
  ) {
    var input = input
    let isolates = engine.direction(of: engine.localeID(locale)) == .rightToLeft
    let shown = isolates ? "\u{2068}\(own.text)\u{2069}" : own.text
    var values: [String: ICUValue] = [
      "actor": .text(shown), "other": .text(shown), "actors": .number(input.actorCount),
      "count": .number(input.count), "actorFinal": .text(own.final), "otherFinal": .text(own.final),
    ]
    for argument in kind.arguments {
      let isAbsent = own.isAbsent && argument.isOptional
      switch argument.type {
      case .text:
        if !isAbsent { input.arguments[argument.name] = own.text }
        values[argument.name] = .text(shown)
        values["\(argument.name)Final"] = .text(isAbsent ? "none" : own.final)
      case .number:
        input.arguments[argument.name] = "\(own.number)"
        values[argument.name] = .number(own.number)
        values["\(argument.name)Final"] = .text("other")
      }
    }
    let rendered = (try? engine.render(input, locale: locale))?.text ?? "not rendered"
    #expect(
      icu.format(values) == Array(rendered.utf8), "\(locale) \(kind.name) \(input) \(rendered)")
  }

  @Test("every pattern of every built-in locale", arguments: BuiltIn.catalogs.map(\.name))
  func catalogs(name: String) throws {
    let file = try #require(BuiltIn.catalogs.first { $0.name == name })
    #expect(try Self.compare(file, against: .builtIn) > 1000)
  }

  @Test("the example catalog with Korean particles")
  func plainKorean() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let path = root.appending(path: "Examples/catalogs/plain-korean/ko.arb")
    let file = CatalogFile(name: "ko.arb", bytes: Array(try Data(contentsOf: path)))
    let engine = try AlarmTextEngine(catalogs: [file])
    #expect(try Self.compare(file, against: engine) > 1000)
    let builtIn = try #require(BuiltIn.catalogs.first { $0.name == "ko.arb" })
    func keys(_ file: CatalogFile) throws -> Set<String> {
      Set(try Catalog(file, signatures: MessageSignature.builtIn).messages.keys)
    }
    #expect(try keys(file) == keys(builtIn).subtracting(["ellipsis"]))
    let input = AlarmInput(
      code: .like, actor: Actor(id: "a", nickname: "나오(Lv.25)"),
      other: Actor(id: "b", nickname: "지민"), actorCount: 2)
    #expect(try engine.render(input, locale: "ko").text == "나오(Lv.25)와 지민이 내 게시물을 좋아해요")
  }

  @Test("plural categories of every known language", arguments: LanguageRules.languages)
  func plurals(language: String) throws {
    let rules = try #require(LanguageRules(language: language))
    let millions = (1...30).flatMap { [$0 * 1_000_000, $0 * 1_000_000 + 1, $0 * 500_000] }
    for number in Array(-120...1300) + millions {
      #expect(
        rules.plurals.category(number).rawValue == ICU.pluralCategory(number, locale: language),
        "\(language) \(number)")
    }
  }

  @Test(
    "whole numbers of every known language, and of regions that write Arabic with other digits",
    arguments: LanguageRules.languages + ["ar-DZ", "ar-LY", "ar-MA", "ar-TN"])
  func numbers(language: String) throws {
    let style = NumberStyle(try #require(LocaleTag(language).flatMap(LanguageRules.init)))
    for number in [
      0, 9, 10, 12, 999, 1000, 1234, 10_000, 123_456, 1_234_567, 1_234_567_890, -1, -9, -10, -1234,
      -123_456, .max, .min,
    ] {
      var written: [UInt8] = []
      let units = style.write(number, to: &written)
      #expect(written == ICU.number(number, locale: language), "\(language) \(number)")
      #expect(units == String(decoding: written, as: UTF8.self).utf16.count)
    }
  }

  @Test(
    "syntax: quotes, nesting, spaces, offsets, #",
    arguments: [
      "It''s {actor}", "It's {actor}", "'{'{actor}'}'", "'{actor}' is quoted, {actor} is not",
      "{ actor }", "{actor}#", "a 'b' c '' d {actor}", "{actor} '{''}'",
      "{actors,plural,other{{actor} # '#' '{'#'}'}}",
      "{ actors , plural , offset:1 =1 {{actor}} other {{actor} and #} }",
      "{actors, plural, =2{two} other{{actor} {count, plural, one{# a} other{# {actors} b}}}}",
      "{actorFinal, select, vowel{가} consonant{이} rieul{이} other{이(가)}}",
      "{actor}{actorFinal, select, vowel{로} rieul{로} other{으로 #}}",
      "{actors, plural, other{{actorFinal, select, other{# {actors}}}}}",
      "{actors, number} {count, number, integer} {actor}",
    ])
  func syntax(pattern: String) throws {
    var json = JSONWriter()
    json.object { $0.member("like", pattern) }
    let engine = try AlarmTextEngine(catalogs: [CatalogFile(name: "en.arb", bytes: json.bytes)])
    let icu = try #require(ICUPattern(pattern, locale: "en"))
    for actors in [1, 2, 3, 1234] {
      for (final, name) in Self.finals {
        let text = try engine.render(
          AlarmInput(
            code: .like, actor: Actor(id: "a", nickname: name), actorCount: actors, count: 2),
          locale: "en"
        ).text
        let expected = icu.format(
          actor: name, other: "", actors: actors, count: 2, actorFinal: final, otherFinal: "other")
        #expect(expected == Array(text.utf8), "\(pattern) \(actors)")
      }
    }
  }
}
