import Foundation
import Testing

@Suite("magpie kinds")
struct KindsTests {
  let magpie = Tool()

  @Test("lists every kind, one a line")
  func list() async throws {
    let table = try await magpie("kinds")
    #expect(table.status == 0 && table.lines.count == 45)
    #expect(table.lines[0].hasPrefix("code  name"))
    #expect(table.lines[1].contains(/^F00 +like +day +required +heart +magpie:/))
    #expect(table.output.contains("title [station]"))
    let json = try await magpie("kinds", "list", "--json")
    #expect(json.lines.count == 44)
    #expect(try member("name", of: json.lines[14], as: String.self) == "broadcast")
    let arguments = try member("arguments", of: json.lines[14], as: [[String: Any]].self)
    #expect(arguments?.compactMap { $0["name"] as? String } == ["title", "station"])
    #expect(arguments?.compactMap { $0["optional"] as? Bool } == [false, true])
  }

  static let raid = #"""
    {"F77": {"name": "raid", "message": "raid",
      "arguments": {"title": {"type": "text", "bytes": 64}, "viewers": {"type": "number"}}}}
    """#

  @Test("check names the locales without a sentence, and incomplete plurals")
  func gaps() async throws {
    let directory = try CatalogDirectory([
      "kinds.json": Self.raid,
      "en.arb": #"{"raid": "{actor} brings {viewers, plural, other{#}} to {title}"}"#,
      "ko.arb": #"{"raid": "{actor}님이 {viewers, plural, other{#}}명과 {title}에 왔습니다"}"#,
    ])
    defer { directory.remove() }
    let check = try await magpie("kinds", "check", "--catalog-dir", directory.path)
    #expect(check.status == 0, "\(check.error)")
    #expect(
      check.lines == [
        "en: raid lacks the plural one", "th: no sentence for raid", "ja: no sentence for raid",
        "zh-Hans: no sentence for raid", "zh-Hant: no sentence for raid",
        "vi: no sentence for raid", "id: no sentence for raid", "es: no sentence for raid",
        "ar: no sentence for raid", "he: no sentence for raid",
        "45 kinds, 11 locales: valid",
      ])
    let json = try await magpie("kinds", "check", "--json", "--catalog-dir", directory.path)
    #expect(json.lines.count == 11)
    #expect(
      try member("plurals", of: json.lines[0], as: [String: [String]].self) == ["raid": ["one"]])
    #expect(try member("kinds", of: json.lines[1], as: [String].self) == [])
    #expect(try member("kinds", of: json.lines[2], as: [String].self) == ["raid"])
    let shown = try await magpie(
      "render", "--catalog-dir", directory.path, "--type", "F77", "--actor", "나오", "--argument",
      "title=봄밤", "--argument", "viewers=3", "--locale", "ko")
    #expect(shown.output == "나오님이 3명과 봄밤에 왔습니다\n", "\(shown.error)")
  }

  @Test(
    "an invalid directory exits 65 with file, key and place",
    arguments: [
      (#"{"raid": "{actor} brings {viewer} to {title}"}"#, "en.arb:1:2: raid (character 17"),
      (#"{"raid": "{title} by {actor}"}"#, "{actor} must come before {title}"),
      ("{}", "the kind F77 needs this message"), ("{", "en.arb:1:"),
    ])
  func invalid(catalog: String, expected: String) async throws {
    let directory = try CatalogDirectory(["kinds.json": Self.raid, "en.arb": catalog])
    defer { directory.remove() }
    for arguments in [["check"], ["list"]] {
      let check = try await magpie.run(
        ["kinds"] + arguments + ["--catalog-dir", directory.path])
      #expect(check.status == 65 && check.output.isEmpty)
      #expect(check.error.contains(expected), "\(check.error)")
    }
  }

  @Test("an invalid registry exits 65, a missing directory too")
  func registry() async throws {
    let directory = try CatalogDirectory(["kinds.json": "{\n \"F77\": {\"name\": 3}}"])
    defer { directory.remove() }
    let check = try await magpie("kinds", "check", "--catalog-dir", directory.path)
    #expect(check.status == 65)
    #expect(check.error.contains("\(directory.path)/kinds.json:2:"), "\(check.error)")
    #expect(try await magpie("kinds", "check", "--catalog-dir", "/nonexistent").status == 65)
    let grouped = try CatalogDirectory([
      "kinds.json":
        #"{"F13": {"name": "author-post", "message": "authorPost", "group": "day"}}"#
    ])
    defer { grouped.remove() }
    let refused = try await magpie("kinds", "check", "--catalog-dir", grouped.path)
    #expect(refused.status == 65)
    #expect(refused.error.contains(#"group must be "none""#), "\(refused.error)")
  }
}
