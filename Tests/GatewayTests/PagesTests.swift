import Foundation
import Schedules
import TestSupport
import Testing

@testable import Gateway

/// The files of the pages, and how the gateway serves them.
@Suite struct PagesTests {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Sources/Gateway/Gateway/pages")

  @Test("every file of the folder is served, and no other")
  func files() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
    #expect(names.sorted() == Pages.files.keys.sorted() && names.count > 30)
    for (name, file) in Pages.files {
      #expect(!file.text.isEmpty, "\(name)")
      #expect(Pages.file(["pages", name])?.text == file.text)
    }
    #expect(Pages.file(["pages", "missing.js"]) == nil && Pages.file(["pages"]) == nil)
  }

  @Test("each page's address is that of a page of main.js, and none of the API")
  func addresses() throws {
    let routes = try #require(Pages.files["routes.js"]).text
    let main = try #require(Pages.files["main.js"]).text
    let fixed = routes.matches(of: /\n  \w+: "(\/[^"]*)",/).map { String($0.1) }
    let templates = main.matches(of: #/\["(/[^"]+)", /#).map { match in
      String(match.1).replacing(/:(\w+)/) { "{\($0.1)}" }
    }
    #expect((fixed + templates).sorted() == (Pages.addresses.map(\.text) + ["/"]).sorted())
    for address in Pages.addresses {
      let path = address.text.dropFirst().split(separator: "/").map(String.init)
      #expect(Pages.file(path)?.text == Pages.files["index.html"]?.text)
      #expect(Route.at(path).isEmpty)
    }
  }

  @Test("no text becomes markup, and nothing is inline or from elsewhere")
  func strictness() throws {
    for (name, file) in Pages.files {
      let isMarkup = file.text.contains(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser/)
      #expect(!isMarkup, "\(name)")
      #expect(!file.text.contains(/https?:\/\/(?!www\.w3\.org\/2000\/svg)\w/), "\(name)")
      let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
      for (number, line) in lines.enumerated() {
        #expect(line.count <= 100, "\(name):\(number + 1)")
      }
      #expect(lines.count <= 200 || !name.hasSuffix(".js"), "\(name)")
    }
    let index = try #require(Pages.files["index.html"]).text
    #expect(!index.contains(/<style|style=|\son\w+=|<script>/))
  }

  @Test("every text that a module names has four languages")
  func texts() throws {
    let table = try ["texts.js", "texts-problems.js"].map {
      try #require(Pages.files[$0]).text
    }.joined()
    let rows = table.matches(of: /(?s)\n  "?([\w-]+)"?: \[(.*?)\],(?=\n)/)
    let names = Set(rows.map { String($0.1) })
    #expect(rows.count == names.count && rows.count > 100)
    for row in rows {
      #expect(row.2.matches(of: /"[^"]+"/).count == 4, "\(row.1)")
    }
    for (name, file) in Pages.files {
      for used in file.text.matches(of: /words\(\s*"([^"]+)"/) {
        #expect(names.contains(String(used.1)), "\(name) names \(used.1)")
      }
    }
    // Others are the pages' own mistakes, which are shown as internal-error.
    for code in Problem.Code.allCases where ![400, 404, 405, 406, 415].contains(code.status.code) {
      #expect(names.contains("problem-\(code.rawValue)") || code == .unknownMember, "\(code)")
    }
  }

  @Test("every repetition that the form for reminders offers is one that reminders can have")
  func repetitions() throws {
    let page = try #require(Pages.files["reminders.js"]).text
    let table = try #require(page.firstMatch(of: /(?s)const repetitions = \[(.*?)\n\];/)).1
    let rules = table.matches(of: /\["([^"]*)", "\w+"\]/).map { String($0.1) }
    #expect(rules.first == "" && rules.count > 3)
    for rule in rules.dropFirst() {
      #expect(throws: Never.self, "\(rule)") { try RecurrenceRule(rule) }
    }
  }

  @Test("files come with their types, a policy and a tag, without an identity")
  func serving() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    for (path, type) in [
      ("/", "text/html; charset=utf-8"), ("/post/a%2Fb", "text/html; charset=utf-8"),
      ("/u/minji?x=1", "text/html; charset=utf-8"),
      ("/pages/main.js", "text/javascript; charset=utf-8"),
      ("/pages/style.css", "text/css; charset=utf-8"), ("/pages/icon.svg", "image/svg+xml"),
    ] {
      let answer = try await stack.send("GET", path)
      #expect(answer.status == 200 && answer.headers["content-type"] == type, "\(path)")
      #expect(answer.headers["content-security-policy"]?.contains("default-src 'none'") == true)
      #expect(answer.headers["x-content-type-options"] == "nosniff")
      #expect(answer.headers["referrer-policy"] == "no-referrer")
      #expect(answer.headers["cache-control"] == "no-cache")
      let tag = try #require(answer.headers["etag"])
      let again = try await stack.send("GET", path, headers: ["If-None-Match": tag])
      #expect(again.status == 304 && again.body.isEmpty, "\(path)")
    }
    #expect(try await stack.send("GET", "/pages/missing.js").status == 404)
    #expect(try await stack.send("GET", "/pages/..%2Fopenapi.yaml").status == 404)
    #expect(try await stack.send("GET", "/nowhere").status == 404)
    // A browser gets a page that says so, which takes the token out of its address.
    let accept = ["Accept": "text/html,*/*;q=0.8"]
    for (path, type) in [
      ("/nowhere/at/all", "text/html; charset=utf-8"), ("/v1/nowhere", "application/problem+json"),
      ("/pages/missing.js", "application/problem+json"),
    ] {
      let answer = try await stack.send("GET", path, headers: accept)
      #expect(answer.status == 404 && answer.headers["content-type"] == type, "\(path)")
      #expect(answer.headers["cache-control"] == "no-store")
    }
  }
}
