import Testing

@testable import AlarmText

@Suite("Errors in catalogs and registries")
struct CatalogTests {
  private func failure(_ text: String, name: String = "ko.arb") -> String {
    do {
      _ = try AlarmTextEngine(catalogs: [CatalogFile(name: name, bytes: Array(text.utf8))])
      return "accepted"
    } catch { return error.description }
  }

  private func registryFailure(_ text: String) -> String {
    do {
      _ = try AlarmTextEngine(kinds: [CatalogFile(name: "kinds.json", bytes: Array(text.utf8))])
      return "accepted"
    } catch { return error.description }
  }

  @Test("JSON errors contain line and column")
  func json() {
    #expect(failure("{\n  \"like\": \"x\",\n  oops\n}") == "ko.arb:3:3: expected a key in quotes")
    #expect(failure("{\"a\": \"1\", \"a\": \"2\"}").contains("occurs twice"))
    #expect(failure("{\"a\": \"\\ud800\"}").contains("surrogate"))
    #expect(failure(String(repeating: "[", count: 99)).contains("levels deep"))
    #expect(failure("[]") == "ko.arb: expected an object of messages by key")
    #expect(failure("{} x").contains("after the JSON value"))
    #expect(failure("{\"like\": 3}") == "ko.arb:1:2: like: a message must be a string")
  }

  @Test(
    "pattern errors contain the key and the position in the pattern",
    arguments: [
      ("{actr} x", "ko.arb:1:2: like (character 2 of the pattern): unknown argument \"actr\""),
      ("{actor", "expected ',' or '}'"), ("{actor}}", "unmatched '}'"),
      ("{actors, plural, one{x}}", "the plural has no branch \"other\""),
      ("{actors, plural, other{x} other{y}}", "the branch other occurs twice"),
      ("{actors, plural, offset:2 other{x}}", "an offset must be 0 or 1"),
      ("{actors, plural, lots{x} other{y}}", "found \"lots\""),
      ("{actorFinal, select, closed{x} other{y}}", "expected vowel, consonant, rieul or other"),
      ("{actorFinal}", "can only be used in a select"),
      ("{actor, date}", "\"date\" cannot be used"), ("{actors, number, percent}", "number style"),
      ("'{x", "unterminated quote"), ("{actor} {actor}", "{actor} may occur only once"),
      ("{other} {actor}", "{actor} must come before {other}"), ("<{actor}>", "'<' and '>'"),
      ("{actor}\\u202e", "U+202E"), ("{actor}\\n", "U+A"), ("{actor}\\u0301", "combining"),
      ("{actor}\\u200b", "U+200B"), ("{actors, plural, other{", "without a closing '}'"),
      ("{actors, plural, =99999999999{x} other{y}}", "expected '{'"), ("{actor}\\uffff", "U+FFFF"),
      ("", "something visible"), (" \\u3000", "something visible"),
      ("{actors, plural, offset:1 =1{} other{{actor} x}}", "something visible"),
      ("{actorFinal, select, vowel{x} other{ }}", "something visible"),
      ("\u{915}\u{94D}{actor} x", "joins the next"), ("\u{D4E}{actor}", "joins the next"),
      ("x \u{1100}{actor}", "joins the next"), ("\u{D4E}{actors}", "joins the next"),
      ("x\u{94D}{actorFinal, select, vowel{y} other{{actor}}}", "joins the next"),
      ("{actorFinal, select, vowel{x\u{94D}} other{y}}{actor}", "joins the next"),
    ] as [(String, String)])
  func patterns(pattern: String, expected: String) {
    let found = failure("{\"like\": \"\(pattern)\"}")
    #expect(found.contains(expected), "\(found)")
    #expect(found.contains("like"))
  }

  @Test(
    "a text may end in any character but before a name, and a branch may be empty beside others",
    arguments: [
      "{actor} \u{915}\u{94D}", "\u{915}\u{94D} {actor}", "🇰🇷{actor}", "{actors}{actor}",
      "{actors, plural, =1{} other{#}} x", "{actors, plural, =1{} other{#}}{actor}",
    ])
  func acceptedPatterns(pattern: String) {
    #expect(failure("{\"like\": \"\(pattern)\"}") == "accepted")
  }

  @Test("depth and length are bounded")
  func bounds() {
    let open = String(repeating: "{actors, plural, other{", count: 9)
    let close = String(repeating: "}}", count: 9)
    #expect(failure("{\"like\": \"\(open)\(close)\"}").contains("levels deep"))
    #expect(
      failure("{\"like\": \"\(String(repeating: "x", count: 5000))\"}").contains("longer than"))
    #expect(failure(String(repeating: " ", count: 1 << 20) + "{}").contains("larger than"))
  }

  @Test("many members on one line are read in one pass, with the right places")
  func oneLine() {
    let members = (0..<70_000).map { "\"k\($0)\": 0" }.joined(separator: ", ")
    let before = "{\"@é\": {\(members)}, "
    #expect(
      failure(before + "\"like\": 3}")
        == "ko.arb:1:\(before.unicodeScalars.count + 1): like: a message must be a string")
  }

  @Test("missing branches of nested selects share the program of other")
  func missingBranches() throws {
    let open = String(repeating: "{actorFinal, select, other{", count: 6)
    let text = "\(open){actor} x\(String(repeating: "}}", count: 6))"
    let file = CatalogFile(name: "ko.arb", bytes: Array("{\"like\": \"\(text)\"}".utf8))
    let compiled = CompiledCatalog(
      try Catalog(file), rules: try #require(LanguageRules(language: "ko")),
      messageKeys: ["like"], signatures: [MessageSignature()], fallbacks: [])
    #expect(compiled.code.count < text.utf8.count)
    let engine = try AlarmTextEngine(catalogs: [file])
    for nickname in ["나오", "민준", "서울", "Жук"] {
      let input = AlarmInput(code: .like, actor: Actor(id: "a", nickname: nickname))
      #expect(try engine.render(input, locale: "ko").text == "\(nickname) x")
    }
  }

  @Test("locales must be known and match the file's name")
  func locales() {
    #expect(failure("{}", name: "tlh.arb").contains("known plural rules"))
    #expect(failure("{}", name: "KO.arb").contains("the name must be a locale"))
    #expect(failure("{\"@@locale\": \"th\"}").contains("must be \"ko\""))
    #expect(failure("{\"someone\": \"{actor}\"}").contains("must be non-empty plain text"))
    #expect(failure("{\"someone\": \"\"}").contains("must be non-empty plain text"))
    for ellipsis in ["....", "👨‍👩‍👧‍👦"] {
      #expect(failure("{\"ellipsis\": \"\(ellipsis)\"}").contains("longer than 3 graphemes"))
    }
    #expect(failure("{\"@like\": {\"description\": \"x\"}, \"unused\": \"x\"}") == "accepted")
  }

  @Test("registries are checked")
  func registries() {
    #expect(registryFailure(#"{"X1": {}}"#).contains("a code is F00 to F999"))
    #expect(registryFailure(#"{"F06": {}}"#).contains("needs a name and a message"))
    #expect(
      registryFailure(#"{"F06": {"name": "n", "message": "nope"}}"#)
        == "en.arb: nope: the kind F06 needs this message in the default locale")
    #expect(
      registryFailure(#"{"F06": {"name": "like", "message": "like"}}"#)
        .contains("already used by F00"))
    #expect(
      registryFailure(#"{"F06": {"name": "n", "message": "like", "deepLinks": ["a{b"]}}"#)
        .contains("balanced braces"))
    #expect(registryFailure(#"{"F06": {"nam": "n"}}"#).contains("\"nam\" is unknown"))
  }

  @Test("an operator can add a kind with catalogs alone")
  func newKind() throws {
    let kinds = """
      {"F77": {"name": "club", "message": "clubInvitation", "badgeIcon": "tent",
        "highlight": "accent", "deepLinks": ["magpie://clubs/{subject}"]}}
      """
    let english = #"{"clubInvitation": "{actor} invites you to a club"}"#
    let korean = #"{"clubInvitation": "{actor}님이 모임에 초대했습니다"}"#
    let engine = try AlarmTextEngine(
      catalogs: [
        CatalogFile(name: "en.arb", bytes: Array(english.utf8)),
        CatalogFile(name: "ko.arb", bytes: Array(korean.utf8)),
      ], kinds: [CatalogFile(name: "kinds.json", bytes: Array(kinds.utf8))])
    let kind = try #require(engine.kind(named: "club"))
    #expect(kind.code.description == "F77" && kind.badgeIcon == "tent")
    #expect(kind.deepLink(["subject": "a/b ü"]) == "magpie://clubs/a%2Fb%20%C3%BC")
    #expect(kind.deepLink([:]) == nil)
    let input = AlarmInput(code: kind.code, actor: Actor(id: "a", nickname: "나오"))
    #expect(try engine.render(input, locale: "ko").text == "나오님이 모임에 초대했습니다")
    let thai = try engine.render(input, locale: "th")
    #expect(thai.text == "나오 invites you to a club" && thai.locale == "en")
    #expect(throws: AlarmTextError.unknownKind(kind.code)) {
      try AlarmTextEngine.builtIn.render(input, locale: "ko")
    }
  }

  @Test("built-in kinds link to their subject")
  func deepLinks() throws {
    let engine = AlarmTextEngine.builtIn
    let comment = try #require(engine.kind(.comment))
    #expect(comment.deepLink(["post": "p", "comment": "c"]) == "magpie://posts/p/comments/c")
    #expect(comment.deepLink(["post": "p", "comment": ""]) == "magpie://posts/p")
    #expect(engine.kind(.follow)?.deepLink(["actor": "ü"]) == "magpie://users/%C3%BC")
  }

  @Test("what stands for several alarms is said in the reader's language, or not at all")
  func several() throws {
    let english =
      "{\"@@locale\": \"en\", \"raid\": \"{actor}\", \"raids\": \"{alarms, number} raids\"}"
    let kinds = "{\"F77\": {\"name\": \"raid\", \"message\": \"raid\", \"several\": \"raids\"}}"
    func file(_ name: String, _ text: String) -> CatalogFile {
      CatalogFile(name: name, bytes: Array(text.utf8))
    }
    let engine = try AlarmTextEngine(
      catalogs: [file("en.arb", english)], kinds: [file("kinds.json", kinds)])
    let raid = try #require(engine.kind(named: "raid"))
    #expect(engine.text(ofSeveral: raid.code, count: 1234, locale: "en-GB") == "1,234 raids")
    #expect(engine.text(ofSeveral: raid.code, count: 5, locale: "ko") == nil)
    #expect(engine.text(ofSeveral: .follow, count: 5, locale: "en") == nil)
    #expect(engine.text(ofSeveral: .comment, count: 5, locale: "ko-KR") == "새 댓글 5개가 있습니다")
    #expect(engine.text(ofSeveral: .comment, count: 2, locale: "ar") == "تعليقان جديدان")
    #expect(
      registryFailure(
        "{\"F77\": {\"name\": \"raid\", \"message\": \"raid\", \"several\": \"like\"}}"
      )
      .contains("is that of one alarm of F00"))
  }

  @Test("every built-in locale has every message and its own plural categories")
  func complete() throws {
    let english = try Catalog(try #require(BuiltIn.catalogs.first))
    for file in BuiltIn.catalogs {
      let catalog = try Catalog(file)
      #expect(Set(catalog.messages.keys) == Set(english.messages.keys), "\(catalog.locale)")
      let rules = try #require(LanguageRules(language: LocaleTag(catalog.locale)?.language ?? ""))
      let categories = Set(
        (0...2_000_000).lazy.filter { $0 < 1000 || $0 % 1_000_000 == 0 }.map {
          rules.plurals.category($0)
        })
      for key in AlarmTextEngine.builtIn.kinds.flatMap({ [$0.messageKey, $0.severalKey] }) {
        guard let key else { continue }
        let nodes = try #require(catalog.messages[key]).pattern.nodes
        #expect(
          nodes.count == 1 || !nodes.contains { $0.isPlural },
          "\(catalog.locale) \(key): not a single plural around whole sentences")
        for plural in nodes.flatMap(\.plurals) where plural.showsNumber {
          for category in categories {
            #expect(
              plural.categories[category.rawValue] != nil,
              "\(catalog.locale) \(key) lacks \(category)")
          }
        }
      }
    }
  }
}

extension MessagePattern.Node {
  fileprivate var isPlural: Bool { if case .plural = self { true } else { false } }

  /// Every plural in it.
  fileprivate var plurals: [MessagePattern.Plural] {
    switch self {
    case .plural(_, let plural):
      [plural] + plural.branches.flatMap { $0.flatMap(\.plurals) }
    case .select(_, let branches): branches.compactMap { $0 }.flatMap { $0.flatMap(\.plurals) }
    case .literal, .name, .number: []
    }
  }
}

extension MessagePattern.Plural {
  fileprivate var branches: [[MessagePattern.Node]] {
    exact.map(\.branch) + categories.compactMap { $0 }
  }

  fileprivate var showsNumber: Bool {
    branches.joined().contains { if case .number = $0 { true } else { false } }
  }
}
