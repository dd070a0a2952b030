import Kinds
import Testing

@Suite("The registry of kinds")
struct KindTests {
  private func registry(_ text: String) throws(CatalogError) -> AlarmKinds {
    try AlarmKinds(files: [CatalogFile(name: "kinds.json", bytes: Array(text.utf8))])
  }

  private func failure(_ fields: String) -> String {
    do {
      _ = try registry("{\"F77\": {\"name\": \"n\", \"message\": \"m\", \(fields)}}")
      return "accepted"
    } catch { return error.description }
  }

  @Test("the built-in kinds have consecutive codes, the first six as ever")
  func builtIn() throws {
    let kinds = AlarmKinds.builtIn.all
    #expect(kinds.map(\.code.number) == Array(0..<kinds.count) && kinds.count == 44)
    let six = kinds.prefix(6)
    #expect(six.map(\.name) == ["like", "comment", "follow", "message", "mention", "post"])
    #expect(six.filter(\.isGrouped).map(\.name) == ["like", "follow", "message"])
    #expect(six.allSatisfy { $0.actor == .required && $0.arguments.isEmpty })
    for kind in kinds {
      #expect(!kind.deepLinks.isEmpty && !kind.badgeIcon.isEmpty, "\(kind.name)")
      #expect(AlarmKinds.builtIn.kind(kind.name) == kind)
      #expect(AlarmKinds.builtIn.kind(kind.code.description) == kind)
      #expect(AlarmKinds.builtIn[kind.code] == kind)
    }
    #expect(AlarmKinds.builtIn.kind("F77") == nil && AlarmKinds.builtIn.kind("poke") == nil)
    #expect(AlarmKinds.builtIn[try #require(AlarmCode(999))] == nil)
  }

  @Test("a file adds kinds and replaces built-in ones")
  func files() throws {
    let kinds = try registry(
      """
      {"F77": {"name": "raid", "message": "raid", "group": "day", "actor": "optional",
        "arguments": {"title": {"type": "text", "bytes": 16}, "viewers": {"type": "number"},
          "game": {"type": "text", "bytes": 8, "optional": true}},
        "deepLinks": ["magpie://live/{subject}?t={title}", "magpie://live"]},
      "F00": {"name": "love", "message": "like"}}
      """)
    let raid = try #require(kinds.kind("raid"))
    #expect(raid.isGrouped && raid.actor == .optional)
    #expect(raid.arguments.map(\.name) == ["title", "viewers", "game"])
    #expect(raid.arguments.map(\.bytesMax) == [16, 20, 8])
    #expect(
      raid.deepLink(["subject": "a b", "title": "<제목>"])
        == "magpie://live/a%20b?t=%3C%EC%A0%9C%EB%AA%A9%3E")
    #expect(raid.deepLink(["subject": "a"]) == "magpie://live")
    #expect(kinds[.like]?.name == "love" && kinds.kind("like") == nil)
    #expect(kinds.all.count == AlarmKinds.builtIn.all.count + 1)
  }

  @Test("a registry that groups the alarms of authors' posts is refused")
  func authorPosts() throws {
    func registry(_ group: String) throws -> AlarmKinds {
      let json = #"{"F13": {"name": "author-post", "message": "authorPost"\#(group)}}"#
      return try AlarmKinds(files: [CatalogFile(name: "kinds.json", bytes: Array(json.utf8))])
    }
    #expect(try registry("")[.authorPost]?.isGrouped == false)
    #expect(try registry(#", "group": "none""#)[.authorPost]?.isGrouped == false)
    let error = #expect(throws: CatalogError.self) { try registry(#", "group": "day""#) }
    #expect(error?.description.contains(#"F13"#) ?? false)
    #expect(error?.description.contains(#"group must be "none""#) ?? false)
  }

  @Test(
    "errors in a registry say what is expected",
    arguments: [
      (#""group": "week""#, #"group must be "day" or "none""#),
      (#""actor": "maybe""#, #"actor must be "required""#),
      (#""arguments": []"#, "unknown or of the wrong type"),
      (#""arguments": {"t": {"type": "text"}}"#, "1 to 1024"),
      (#""arguments": {"t": {"type": "text", "bytes": 1025}}"#, "1 to 1024"),
      (#""arguments": {"t": {"type": "text", "bytes": 1.5}}"#, "1 to 1024"),
      (#""arguments": {"t": {"type": "number", "bytes": 5}}"#, "without"),
      (#""arguments": {"t": {"type": "date"}}"#, "an argument has type"),
      (#""arguments": {"t": {"type": "number", "max": 5}}"#, #""max" is unknown"#),
      (#""arguments": {"T": {"type": "number"}}"#, "cannot be an argument's name"),
      (#""arguments": {"tFinal": {"type": "number"}}"#, "cannot be an argument's name"),
      (#""arguments": {"actors": {"type": "number"}}"#, "cannot be an argument's name"),
      (#""arguments": {"subject": {"type": "number"}}"#, "cannot be an argument's name"),
      (#""deepLinks": ["app://{title}"]"#, "{title} is unknown"),
      (#""message": "x""#, "occurs twice"),
    ])
  func errors(fields: String, expected: String) {
    let found = failure(fields)
    #expect(found.contains(expected) && found.contains("kinds.json"), "\(found)")
  }

  @Test("kinds that share a message agree on its values; at most eight arguments")
  func together() {
    #expect(
      throws: CatalogError.self,
      performing: {
        try registry(#"{"F77": {"name": "n", "message": "like", "actor": "none"}}"#)
      })
    let nine = (1...9).map { "\"a\($0)\": {\"type\": \"number\"}" }.joined(separator: ",")
    #expect(failure("\"arguments\": {\(nine)}").contains("at most 8"))
  }

  @Test("arguments are checked against the declaration")
  func arguments() throws {
    let kind = AlarmKind(
      code: .like, name: "raid", messageKey: "raid",
      arguments: [
        AlarmArgument(name: "title", type: .text, bytesMax: 6),
        AlarmArgument(name: "viewers", type: .number, bytesMax: 20),
        AlarmArgument(name: "game", type: .text, bytesMax: 3, isOptional: true),
      ])
    func error(_ values: [String: String]) -> String {
      do {
        _ = try kind.checked(values)
        return "accepted"
      } catch { return "\(error.field): \(error.message)" }
    }
    let valid = ["title": "제목", "viewers": "-5"]
    #expect(try kind.checked(valid) == valid)
    #expect(try kind.checked(valid.merging(["game": ""]) { $1 }) == valid)
    #expect(error(["viewers": "1"]) == "arguments.title: is missing; raid alarms need it")
    #expect(error(["title": "", "viewers": "1"]).hasPrefix("arguments.title: is missing"))
    #expect(
      error(["title": "제목a", "viewers": "1"])
        == "arguments.title: has 7 bytes, more than the limit of 6")
    #expect(
      error(valid.merging(["x": "1", "y": "1"]) { $1 })
        == "arguments.x: is unknown; raid alarms take the arguments title, viewers, game")
    for number in ["9223372036854775807", "-9223372036854775808", "0", "7"] {
      #expect(error(["title": "t", "viewers": number]) == "accepted")
    }
    for number in [
      "9223372036854775808", "-9223372036854775809", "+1", "01", "-0", " 1", "1 ", "1.0", "1e3",
      "٣", "x", "-", String(repeating: "1", count: 100_000),
    ] {
      #expect(error(["title": "t", "viewers": number]).contains("whole number"), "\(number)")
    }
  }
}
