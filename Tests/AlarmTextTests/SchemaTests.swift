import Foundation
import Testing

@testable import AlarmText

/// Validates values against the subset of JSON Schema that the alarm's schema uses.
private struct SchemaChecker {
  let root: [String: Any]

  func problems(_ value: Any, _ schema: [String: Any], at path: String = "$") -> [String] {
    if let reference = schema["$ref"] as? String {
      let name = reference.split(separator: "/").last.map(String.init) ?? ""
      let definitions = root["$defs"] as? [String: Any] ?? [:]
      return problems(value, definitions[name] as? [String: Any] ?? ["enum": []], at: path)
    }
    var problems: [String] = []
    if let allowed = schema["enum"] as? [String] {
      if !allowed.contains(value as? String ?? "") { problems.append("\(path): not in enum") }
    }
    switch schema["type"] as? String {
    case "object":
      guard let object = value as? [String: Any] else { return ["\(path): not an object"] }
      let properties = schema["properties"] as? [String: [String: Any]] ?? [:]
      for key in schema["required"] as? [String] ?? [] where object[key] == nil {
        problems.append("\(path): lacks \(key)")
      }
      for (key, member) in object {
        guard let property = properties[key] else {
          problems.append("\(path): \(key) is not in the schema")
          continue
        }
        problems += self.problems(member, property, at: "\(path).\(key)")
      }
      if schema["if"] != nil, (object["kind"] as? String == "actor") != (object["actor"] != nil) {
        problems.append("\(path): actor belongs to kind actor alone")
      }
    case "array":
      guard let array = value as? [Any] else { return ["\(path): not an array"] }
      if array.count < schema["minItems"] as? Int ?? 0 { problems.append("\(path): too few") }
      for element in array {
        problems += self.problems(
          element, schema["items"] as? [String: Any] ?? [:], at: path + "[]")
      }
    case "string":
      guard let text = value as? String else { return ["\(path): not a string"] }
      if text.count < schema["minLength"] as? Int ?? 0 { problems.append("\(path): empty") }
      if let pattern = schema["pattern"] as? String,
        text.range(of: pattern, options: .regularExpression) == nil
      {
        problems.append("\(path): does not match \(pattern)")
      }
    case "integer":
      guard let number = value as? Int else { return ["\(path): not an integer"] }
      if number < schema["minimum"] as? Int ?? 0 { problems.append("\(path): too small") }
    default: break
    }
    return problems
  }
}

@Suite("Alarms as clients receive them")
struct SchemaTests {
  @Test("every kind in every locale conforms to the published schema")
  func schema() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "docs/alarm-text/alarm.schema.json")
    let schema = try #require(
      try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
    let checker = SchemaChecker(root: schema)
    let kinds = (schema["$defs"] as? [String: [String: Any]])?["kind"]?["enum"] as? [String]
    #expect(kinds == SegmentKind.allCases.map(\.name))
    let engine = AlarmTextEngine.builtIn
    var random = Seeded(12)
    for locale in engine.locales {
      for kind in engine.kinds {
        for people in [1, 2, 30] {
          var input = AlarmInput.hostile(kind, &random)
          input.actorCount = people
          if input.actor != nil {
            input.other = Actor(id: "b", nickname: HostileText.next(&random))
          }
          let alarm = try engine.render(input, locale: locale)
          let value = try JSONSerialization.jsonObject(with: Data(alarm.json))
          #expect(checker.problems(value, schema) == [])
        }
      }
    }
  }

  @Test("a buffer produces the same JSON as the values")
  func buffer() throws {
    let engine = AlarmTextEngine.builtIn
    var random = Seeded(13)
    var buffer = AlarmBuffer()
    for _ in 0..<500 {
      let kind = try #require(engine.kinds.randomElement(using: &random))
      var input = AlarmInput.hostile(kind, &random)
      if input.actor != nil { input.actor?.id = "\"\u{1}é" }
      let locale = engine.locales.randomElement(using: &random) ?? "en"
      try engine.render(input, locale: engine.localeID(locale), into: &buffer)
      let alarm = try engine.render(input, locale: locale)
      var json: [UInt8] = []
      buffer.appendSegmentsJSON(input, to: &json)
      #expect(json == alarm.segmentsJSON)
      json = []
      buffer.appendSpansJSON(input, to: &json)
      #expect(json == alarm.spansJSON)
      #expect(buffer.text == Array(alarm.text.utf8))
      #expect(buffer.utf16Count == alarm.text.utf16.count)
    }
  }

  @Test("the output helpers escape active characters of their formats")
  func helpers() throws {
    let alarm = try AlarmTextEngine.builtIn.render(
      AlarmInput(
        code: .comment, actor: Actor(id: "a", nickname: "<b>*x*</b>"), headText: "[a](b) & \"c\""),
      locale: "en")
    #expect(
      alarm.html
        == "<bdi class=\"actor\">&lt;b&gt;*x*&lt;/b&gt;</bdi> commented on your post: "
        + "<bdi class=\"head\">[a](b) &amp; &quot;c&quot;</bdi>")
    #expect(
      alarm.markdown
        == "**\\<b\\>\\*x\\*\\<\\/b\\>** commented on your post\\: \\[a\\]\\(b\\) \\& \\\"c\\\"")
    #expect(alarm.ansi.hasPrefix("\u{1B}[1;36m<b>*x*</b>\u{1B}[0m commented"))
  }

  @Test("names are bold in CommonMark, also beside letters and with punctuation at their ends")
  func bold() throws {
    func markdown(_ name: String, _ locale: String) throws -> String {
      try AlarmTextEngine.builtIn.render(
        AlarmInput(code: .like, actor: Actor(id: "a", nickname: name)), locale: locale
      ).markdown
    }
    #expect(try markdown("나오", "ko").hasPrefix("**나오**님"))
    #expect(try markdown("나오(서울)", "ko").hasPrefix("**나오\\(서울\\)**&#xb2d8;이"))
    #expect(try markdown("(nao)", "en").hasPrefix("**\\(nao\\)** likes"))
    #expect(try markdown("!nao!", "ar").contains("&#x2068;**\\!nao\\!**&#x2069;"))
  }

  @Test("the gallery shows every locale with its direction, and escapes everything")
  func gallery() {
    let page = AlarmTextEngine.builtIn.gallery(
      actor: "<i>나오", other: "محمد", headText: "<script>", argument: { "<u>\($0)" })
    for locale in AlarmTextEngine.builtIn.locales {
      let direction = ["ar", "he"].contains(locale) ? "rtl" : "ltr"
      #expect(page.contains("<tr lang=\"\(locale)\" dir=\"\(direction)\">"))
    }
    #expect(!page.contains("<script>") && !page.contains("<i>") && !page.contains("<u>"))
    for kind in AlarmTextEngine.builtIn.kinds {
      #expect(page.contains("<h2>\(kind.code) \(kind.name)</h2>"))
    }
    #expect(
      page.contains("You received a gift<")
        && page.contains(" sent you <span class=\"count\">12</span> gifts<"))
  }
}
