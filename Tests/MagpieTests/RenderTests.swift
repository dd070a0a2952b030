import Foundation
import Testing

@Suite("magpie render")
struct RenderTests {
  let magpie = Tool()

  @Test("prints the text that a reader of the language sees")
  func sentence() async throws {
    let thai = try await magpie("render", "--type", "like", "--actor", "ปลา", "--locale", "th")
    #expect(thai.status == 0, "\(thai.error)")
    #expect(thai.output.contains("ปลา"))
    #expect(thai.lines.count == 1)
    for (arguments, expected) in [
      (["--actor", "Mina"], "Mina likes your post"),
      (["--actor", "Mina", "--other", "Ali"], "Mina and Ali like your post"),
      (["--actor", "Mina", "--actors", "4"], "Mina and 3 others like your post"),
      (["--actor", "미나", "--locale", "ko-KR"], "미나님이 회원님의 게시물을 좋아합니다"),
      (["--actor", "Mina", "--locale", "tlh"], "Mina likes your post"),
      (["--actor", "Mina", "--head-text", "hi"], "Mina likes your post: hi"),
    ] {
      let result = try await magpie.run(["render", "--type", "F00"] + arguments)
      #expect(result.output == expected + "\n")
    }
    let messages = try await magpie(
      "render", "--type", "message", "--actor", "Mina", "--count", "3")
    #expect(messages.output.contains("3"))
  }

  @Test("shows every language, one per line")
  func allLocales() async throws {
    let result = try await magpie("render", "--type", "follow", "--actor", "Mina", "--all-locales")
    #expect(result.lines.count == 11)
    for line in result.lines { #expect(line.contains("Mina")) }
    #expect(result.lines.contains { $0.hasPrefix("zh-Hant  ") })
  }

  @Test("colors the nickname on a terminal, and escapes control characters in it")
  func hostile() async throws {
    let shown = try await magpie.onTerminal("render", "--type", "like", "--actor", "\u{1B}[31mM")
    #expect(shown.contains("\u{1B}[1;36m[31mM\u{1B}[0m likes your post"))
    let markup = try await magpie(
      "render", "--type", "like", "--actor", "<b>{actor}\u{202E}", "--locale", "ar", "--html")
    #expect(markup.output.hasPrefix("<p lang=\"ar\" dir=\"rtl\">"))
    #expect(markup.output.contains("<bdi class=\"actor\">&lt;b&gt;{actor}</bdi>"))
  }

  @Test("--json prints what clients receive")
  func json() async throws {
    let result = try await magpie(
      "render", "--type", "comment", "--actor", "👩‍👩‍👧 Mina", "--head-text", "hi", "--json",
      "--all-locales")
    #expect(result.lines.count == 11)
    for line in result.lines {
      let text = try #require(try member("text", of: line, as: String.self))
      let spans = try #require(try member("spans", of: line, as: [[String: Any]].self))
      let start = try #require(spans[0]["start"] as? Int)
      let length = try #require(spans[0]["length"] as? Int)
      #expect(
        NSString(string: text).substring(with: NSRange(location: start, length: length))
          == "👩‍👩‍👧 Mina")
    }
  }

  @Test("a directory of catalogs wins over the built-in ones, and adds kinds")
  func catalogDirectory() async throws {
    let directory = try CatalogDirectory([
      "en.arb": #"{"like": "{actor} ♥ your post", "club": "{actor} invites you to a club"}"#,
      "kinds.json": #"{"F77": {"name": "club", "message": "club"}}"#,
      "README.md": "not a catalog",
    ])
    defer { directory.remove() }
    var magpie = magpie
    magpie.environment = ["MAGPIE_CATALOG_DIR": directory.path]
    let like = try await magpie("render", "--type", "like", "--actor", "Mina")
    #expect(like.output == "Mina ♥ your post\n", "\(like.error)")
    let club = try await magpie("render", "--type", "club", "--actor", "Mina", "--locale", "ko")
    #expect(club.output == "Mina invites you to a club\n", "\(club.error)")
    let korean = try await magpie("render", "--type", "like", "--actor", "미나", "--locale", "ko")
    #expect(korean.output == "미나님이 회원님의 게시물을 좋아합니다\n")
  }

  @Test("a broken catalog is refused with its file, key and position")
  func broken() async throws {
    let directory = try CatalogDirectory(["en.arb": "{\n  \"like\": \"{actor likes\"\n}"])
    defer { directory.remove() }
    let arguments = ["render", "--type", "like", "--actor", "M", "--catalog-dir"]
    let refused = try await magpie.run(arguments + [directory.path])
    #expect(refused.status == 1)
    #expect(refused.error.contains("\(directory.path)/en.arb:2:"), "\(refused.error)")
    #expect(refused.error.contains("like (character "))
    #expect(refused.output.isEmpty)

    let empty = try CatalogDirectory([:])
    defer { empty.remove() }
    for path in [empty.path, "/nonexistent"] {
      let result = try await magpie.run(arguments + [path])
      #expect(result.status == 1)
      #expect(result.error.contains(path))
    }
  }

  @Test("kinds with arguments or without an actor")
  func arguments() async throws {
    for (arguments, expected) in [
      ("badge|--argument|badge=a=b", "You earned the badge “a=b”"),
      ("F37|--argument|badge=일|--locale|ko", "‘일’ 배지를 획득했습니다"),
      ("gift-amount|--argument|amount=1234", "You received 1,234 coins"),
      ("gift-amount|--actor|Mina|--argument|amount=1", "Mina sent you 1 coin"),
      ("security|--argument|device=Pixel", "New sign-in to your account from Pixel"),
      (
        "security|--argument|device=Pixel|--argument|place=<서울>|--head-text|now",
        "New sign-in to your account from Pixel (<서울>): now"
      ),
    ] {
      let result = try await magpie.run(
        ["render", "--type"] + arguments.split(separator: "|").map(String.init))
      #expect(result.output == expected + "\n", "\(result.error)")
    }
    for (arguments, expected) in [
      ("--type badge", "--argument badge is missing"),
      ("--type badge --argument bagde=x --argument badge=x", "--argument bagde is unknown"),
      ("--type ranking --argument title=t --argument rank=1st", "--argument rank is not a whole"),
      ("--type like", "like alarms need an actor; add --actor"),
      ("--type badge --actor Mina --argument badge=x", "badge alarms name nobody; remove --actor"),
    ] {
      let result = try await magpie.run(
        ["render"] + arguments.split(separator: " ").map(String.init))
      #expect(result.status == 64 && result.output.isEmpty)
      #expect(result.error.contains(expected), "\(result.error)")
    }
  }

  @Test("an unknown kind exits 64 and lists the known ones")
  func unknownKind() async throws {
    let result = try await magpie("render", "--type", "poke", "--actor", "Mina")
    #expect(result.status == 64)
    #expect(result.error.contains("like (F00), comment (F01)"))
  }
}

/// A directory with catalog files for one test.
struct CatalogDirectory {
  let path: String

  init(_ files: [String: String]) throws {
    path = NSTemporaryDirectory() + "magpie-catalogs-\(UUID())"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for (name, text) in files {
      try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
