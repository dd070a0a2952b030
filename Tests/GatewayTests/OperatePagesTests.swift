import Foundation
import TestSupport
import Testing

@testable import Gateway

/// The files of the operators' pages, and the pages in Chromium.
@Suite(.serialized) struct OperatePagesTests {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Sources/Operations/magpie/operate/pages")

  static func texts() throws -> [String: String] {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    return try Dictionary(
      uniqueKeysWithValues: names.map {
        ($0, try String(contentsOf: folder.appending(path: $0), encoding: .utf8))
      })
  }

  @Test("no text becomes markup, and nothing is inline or from elsewhere")
  func strictness() throws {
    let texts = try Self.texts()
    #expect(texts.count > 10)
    for (name, text) in texts {
      let isMarkup = text.contains(
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser/)
      #expect(!isMarkup, "\(name)")
      #expect(!text.contains(/https?:\/\/(?!www\.w3\.org\/2000\/svg)\w/), "\(name)")
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      for (number, line) in lines.enumerated() {
        #expect(line.count <= 100, "\(name):\(number + 1)")
      }
      #expect(lines.count <= 200, "\(name)")
      #expect(!text.contains(/<style|style=|\son\w+="|<script>/), "\(name)")
    }
  }

  @Test("every module that one imports is served, and every file of the folder")
  func modules() async throws {
    let stack = try await OperateStack()
    defer { stack.stop() }
    var names = Set(try Self.texts().keys.filter { $0 != "index.html" })
    var (seen, waiting) = (Set<String>(), ["main.js", "operators.css"])
    while let name = waiting.popLast() {
      guard seen.insert(name).inserted else { continue }
      let file = try await stack.send("GET", "/pages/\(name)", as: nil)
      #expect(file.status == 200, "\(name)")
      waiting += file.body.matches(of: /from "\.\/([\w\-]+\.js)"/).map { String($0.1) }
    }
    names.subtract(seen)
    #expect(names == [], "nothing imports them")
  }

  @Test(
    "an operator looks at dead letters, discards one and verifies, in Chromium",
    .enabled(if: BrowserDriver.isInstalled))
  func browser() async throws {
    let stack = try await OperateStack()
    defer { stack.stop() }
    let hostile = "<img src=x onerror=alert(1)>"
    let id = try stack.insertLetter(0, poison: true, reason: hostile)
    try stack.insertLetter(1)
    let driver = try await BrowserDriver()
    defer { driver.stop() }
    let browser = try await Browser(driver)
    try await browser.open(stack.page("/", as: "Olga"))
    #expect(try await browser.value("location.hash") as? String == "")
    try await eventually("the plots have a line, and the dead letters are named") {
      let lines = try await browser.value("document.querySelectorAll('polyline').length") as? Int
      let attention = try await browser.text(".attention")
      return lines ?? 0 > 0 && attention.contains("2 dead letters")
    }
    try await browser.click(".attention a")
    try await eventually("both are listed") {
      try await browser.value("document.querySelectorAll('input[type=checkbox]').length") as? Int
        == 2
    }
    let text = try await browser.text("main")
    #expect(text.contains(hostile))
    #expect(try await browser.value("document.querySelectorAll('main img').length") as? Int == 0)
    try await browser.click("input[aria-label=\"\(id)\"]")
    try await browser.type("a test's rubbish", into: "textarea")
    try await browser.click("button[name=discard]")
    try await eventually("it asks whether this is meant") {
      try await browser.text("button[name=discard]").contains("sure?")
    }
    #expect(try stack.texts("SELECT state FROM dead_letters WHERE state <> 'open'") == [])
    try await browser.click("button[name=discard]")
    try await eventually("one is discarded") {
      try await browser.text(".outcome") == "1 discarded"
    }
    #expect(
      try stack.texts("SELECT resolved_by FROM dead_letters WHERE state = 'discarded'")
        == ["Olga"])
    let address = id.replacing(":", with: "%3A").replacing("/", with: "%2F")
    try await browser.open(stack.page("/dead-letters/\(address)", as: "Olga"))
    try await eventually("its history says who and why") {
      let text = try await browser.text("main")
      return text.contains("Olga") && text.contains("a test's rubbish")
    }
    for (page, selector) in [("/offsets", "table"), ("/verify", "button[name=verify]")] {
      try await browser.open(stack.page(page, as: "Olga"))
      try await eventually("\(page) is there") {
        try await browser.value("!!document.querySelector('\(selector)')") as? Bool == true
      }
    }
    // The link would be one to the same page.
    _ = try await browser.value("document.querySelector('.skip').click()")
    #expect(try await browser.value("document.activeElement.tagName") as? String == "H1")
    _ = try await browser.value(
      "Object.assign(window, { send: fetch, fetch: () => Promise.reject(new TypeError()) })")
    try await eventually("it says that nothing answers") {
      try await browser.text(".trouble") == "The server did not answer."
    }
    _ = try await browser.value("window.fetch = window.send")
    try await eventually("it says so no longer") { try await browser.text(".trouble") == "" }
    let kept = """
      Promise.all([import("/pages/fill.js"), import("/pages/dom.js"), import("/pages/shell.js")])
        .then(([{ fill }, { element }, { table }]) => {
          const box = element("div");
          document.querySelector("main").append(box);
          const show = (text) => fill(box, text, () => [
            element("a", { href: "/a" }, text), table("wide", [text], [["x".repeat(500)]]),
          ]);
          show("one");
          const [link, wide] = box.children;
          link.focus();
          wide.scrollLeft = 7;
          show("one");
          const isSame = link.isConnected;
          show("two");
          const { scrollLeft } = box.lastChild;
          return `${isSame} ${document.activeElement.textContent} ${scrollLeft}`;
        })
      """
    #expect(try await browser.value(kept) as? String == "true two 7")
    try await browser.click("button[name=verify]")
    try await eventually("it has ended") {
      try await browser.text(".outcome").contains("Every invariant holds")
    }
    let unnamed = """
      [...document.querySelectorAll('button, a, input, textarea, select')].filter((each) =>
        !each.textContent.trim() && !each.ariaLabel && !each.labels?.length
        && each.checkVisibility()).length
      """
    #expect(try await browser.value(unnamed) as? Int == 0)
    #expect(try await browser.complaints() == [])
    try await browser.close()
  }
}
