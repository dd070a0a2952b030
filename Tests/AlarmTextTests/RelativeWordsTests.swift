import Testing

@testable import AlarmText

@Suite("Words for relative times")
struct RelativeWordsTests {
  static let locales = AlarmTextEngine.builtIn.locales

  /// Every amount to 400, then generated ones of every magnitude that a Double holds exactly.
  static let amounts: [Int] = {
    var random = Seeded(14)
    var amounts = Set(0...400)
    for digits in 3...15 {
      var limit = 1
      for _ in 0..<digits { limit *= 10 }
      amounts.formUnion([limit, limit + 1, limit * 2, limit * 11])
      for _ in 0..<20 { amounts.insert(Int.random(in: 0...limit, using: &random)) }
    }
    return amounts.sorted()
  }()

  @Test("every unit and amount is ICU's text, byte for byte", arguments: locales)
  func agreement(locale: String) throws {
    let icu = try #require(ICURelative(locale: locale))
    let words = try #require(RelativeWords.builtIn[locale])
    var named = 0
    for (index, unit) in RelativeTime.Unit.allCases.enumerated() {
      for amount in Self.amounts + Self.amounts.dropFirst().map({ -$0 }) {
        let time = RelativeTime(unit: unit, amount: amount)
        let numeric = try #require(icu.format(unit: index, amount: amount, isNamed: false))
        try #require(words.numeric(time).utf8.elementsEqual(numeric.utf8), "\(time)")
        // ICU's names for now and the days; numbers for the units that can be a distance or a part
        // of the calendar.
        let isNamed = unit == .day || time == RelativeTime(unit: .second, amount: 0)
        let expected =
          isNamed ? try #require(icu.format(unit: index, amount: amount, isNamed: true)) : numeric
        try #require(words.text(time).utf8.elementsEqual(expected.utf8), "\(time)")
        if expected != numeric { named += 1 }
      }
    }
    // English has names for now and three days; the other languages for now and five.
    #expect(named == (locale == "en" ? 4 : 6))
  }

  @Test(
    "minutes and days in each language",
    arguments: [
      ("en", "now", "1 minute ago", "3 minutes ago", "yesterday", "in 5 minutes"),
      ("ko", "지금", "1분 전", "3분 전", "어제", "5분 후"),
      ("th", "ขณะนี้", "1 นาทีที่ผ่านมา", "3 นาทีที่ผ่านมา", "เมื่อวาน", "ในอีก 5 นาที"),
      ("ja", "今", "1 分前", "3 分前", "昨日", "5 分後"),
      ("zh-Hans", "现在", "1分钟前", "3分钟前", "昨天", "5分钟后"),
      ("zh-Hant", "現在", "1 分鐘前", "3 分鐘前", "昨天", "5 分鐘後"),
      ("vi", "bây giờ", "1 phút trước", "3 phút trước", "Hôm qua", "sau 5 phút nữa"),
      ("id", "sekarang", "1 menit yang lalu", "3 menit yang lalu", "kemarin", "dalam 5 menit"),
      ("es", "ahora", "hace 1 minuto", "hace 3 minutos", "ayer", "dentro de 5 minutos"),
      ("ar", "الآن", "قبل دقيقة واحدة", "قبل ٣ دقائق", "أمس", "خلال ٥ دقائق"),
      ("he", "עכשיו", "לפני דקה", "לפני 3 דקות", "אתמול", "בעוד 5 דקות"),
    ])
  func samples(
    locale: String, now: String, minute: String, minutes: String, yesterday: String, ahead: String
  ) {
    let texts: [(Int64, String)] = [
      (0, now), (60, minute), (180, minutes), (86_400, yesterday), (-300, ahead),
    ]
    let present = LocalTime(microseconds: 1_767_182_400_000_000)
    for (seconds, expected) in texts {
      let time = LocalTime(microseconds: present.microseconds - seconds * 1_000_000)
      #expect(AlarmTextEngine.builtIn.timeAgo(from: time, to: present, locale: locale) == expected)
    }
  }

  static func ago(_ engine: AlarmTextEngine, _ locale: String) -> String {
    engine.text(RelativeTime(unit: .hour, amount: -2), locale: engine.localeID(locale))
  }

  @Test("a reader's tag selects the words of the catalog that it selects")
  func fallback() throws {
    let engine = AlarmTextEngine.builtIn
    for (tag, expected) in [
      ("ko-KR", "2시간 전"), ("zh-TW", "2 小時前"), ("zh", "2小时前"), ("iw-IL", "לפני שעתיים"),
      ("es-MX", "hace 2 horas"), ("fr", "2 hours ago"), ("", "2 hours ago"),
    ] {
      #expect(Self.ago(engine, tag) == expected)
    }
  }

  @Test("an operator's catalog uses its language's words, else the default locale's, else English")
  func operatorCatalogs() throws {
    func catalog(_ locale: String) -> CatalogFile {
      // A default locale needs every message.
      let messages = AlarmTextEngine.builtIn.kinds.map {
        "\"\($0.messageKey)\": \"\($0.actor == .required ? "{actor}" : "x")\""
      }
      let json = "{" + messages.joined(separator: ",") + "}"
      return CatalogFile(name: "\(locale).arb", bytes: Array(json.utf8))
    }
    let files = [catalog("es-MX"), catalog("fr")]
    var configuration = AlarmTextEngine.Configuration()
    for (defaultLocale, french) in [
      ("en", "2 hours ago"), ("ko", "2시간 전"), ("fr", "2 hours ago"),
    ] {
      configuration.defaultLocale = defaultLocale
      let engine = try AlarmTextEngine(catalogs: files, configuration: configuration)
      #expect(engine.name(of: engine.localeID("es-MX")) == "es-MX")
      #expect(Self.ago(engine, "es-MX") == "hace 2 horas")
      #expect(Self.ago(engine, "fr-CA") == french)
      #expect(Self.ago(engine, "tlh") == french)
    }
  }
}
