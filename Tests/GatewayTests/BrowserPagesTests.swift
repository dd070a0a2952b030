import Foundation
import TestSupport
import Testing

@testable import Gateway

/// Each page by itself in Chromium: its module of events, its width, its labels.
@Suite(.serialized, .enabled(if: BrowserDriver.isInstalled)) struct BrowserPagesTests {
  @Test("events are read as the standard says, however the network cuts them")
  func events() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    let driver = try await BrowserDriver()
    defer { driver.stop() }
    let browser = try await Browser(driver)
    try await browser.open("http://127.0.0.1:\(stack.port)/")
    let differences = try await browser.value(
      #"""
      (async () => {
        const { EventParser } = await import("/pages/events.js");
        const text = "\ufeffretry: 1734\r\n\r\n:c\r\nevent: badge\nid: a=1\ndata: [\ndata:: 1]\r\r"
          + "data\n\ndata\ndata\n\nid\ndata:  two\r\n\r\nevent: x\n\nid: z\n\n"
          + "id: \0\ndata: 한글🌸\n\nretry: 1x\ndata: lost";
        const bytes = new TextEncoder().encode(text);
        const wanted = JSON.stringify([
          ["badge", "[\n: 1]", "a=1"], ["message", "", "a=1"], ["message", "\n", "a=1"],
          ["message", " two", ""], ["message", "한글🌸", "z"],
        ]);
        const differences = [];
        for (let size = 1; size <= bytes.length; size += 1) {
          const parser = new EventParser("old");
          const events = [];
          for (let at = 0; at < bytes.length; at += size) {
            events.push(...parser.push(bytes.subarray(at, at + size)));
          }
          const found = events.map((event) => [event.type, event.data, event.lastEventID]);
          if (JSON.stringify(found) !== wanted || parser.retry !== 1734) differences.push(size);
        }
        return differences.length;
      })()
      """#)
    #expect(differences as? Int == 0)
    #expect(try await browser.complaints() == [])
    try await browser.close()
  }

  @Test("every page in three locales: nothing is wider than the phone, nothing complains")
  func screenshots() async throws {
    let stack = try await GatewayStack(waitSeconds: 60)
    defer { stack.stop() }
    try stack.startWorkers()
    let post = try await stack.send(
      "POST", "/v1/posts", as: "minji", body: #"{"title":"비 그친 북촌","caption":"🐦"}"#)
    let id = try #require(try post.json["id"] as? String)
    let after = ["Magpie-After": try #require(post.headers["magpie-position"])]
    for (method, path, body) in [
      ("PUT", "/v1/posts/\(id)/like", nil), ("PUT", "/v1/profiles/minji/follow", nil),
      ("POST", "/v1/posts/\(id)/comments", #"{"text":"ما أجمل هذا السقف!"}"#),
      ("POST", "/v1/conversations/minji", #"{"text":"สวัสดีครับ"}"#),
      ("PATCH", "/v1/profile", #"{"nickname":"ليلى 🌙","name":"ليلى حسن"}"#),
    ] {
      _ = try await stack.send(method, path, as: "layla", headers: after, body: body)
    }
    let driver = try await BrowserDriver()
    defer { driver.stop() }
    let folder = ProcessInfo.processInfo.environment["MAGPIE_SCREENSHOTS"].map { URL(filePath: $0) }
    let pages = [
      "/", "/following", "/search", "/alarms", "/messages", "/new-message", "/messages/layla",
      "/post/\(id)", "/post/\(id)/likes", "/u/minji", "/u/layla", "/u/minji/followers",
      "/edit-profile", "/reminders", "/settings",
    ]
    for locale in ["en-GB", "ko-KR", "ar-EG"] {
      let edit = try await stack.send(
        "PATCH", "/v1/profile", as: "minji",
        body: #"{"locale":"\#(locale)","nickname":"민지🌸","zone":"Asia/Seoul"}"#)
      let position = try #require(edit.headers["magpie-position"])
      _ = try await stack.send(
        "GET", "/v1/profiles/minji", as: "minji", headers: ["Magpie-After": position])
      let browser = try await Browser(driver)
      for page in pages {
        try await browser.open(stack.page(page, as: "minji"))
        try await eventually("\(page) is there in \(locale)") {
          let isShown = """
            !document.body.textContent.includes('…')
              && !document.querySelector('.trouble:not(:empty)')
            """
          let isRead = try await browser.value(isShown) as? Bool == true
          let language = try await browser.value("document.documentElement.lang") as? String
          let isOpen = try await browser.isLive()
          return isRead && isOpen && language == String(locale.prefix(2))
        }
        let isTooWide = """
          document.documentElement.scrollWidth > document.documentElement.clientWidth
          """
        #expect(try await browser.value(isTooWide) as? Bool == false, "\(page) in \(locale)")
        let unnamed = """
          [...document.querySelectorAll('button, a, input, textarea, select')].filter((each) =>
            !each.textContent.trim() && !each.ariaLabel && !each.labels?.length
            && each.checkVisibility()).length
          """
        #expect(try await browser.value(unnamed) as? Int == 0, "\(page) in \(locale)")
        if let folder {
          let name = page.split(separator: "/").joined(separator: "-")
          try await browser.screenshot(
            to: folder.appending(path: "\(locale)-\(name.isEmpty ? "home" : name).png"))
        }
        // Forms are open.
        let isTooWideWithLargeText = """
          (() => {
            document.documentElement.style.fontSize = "200%";
            for (const each of document.querySelectorAll(".composer")) each.open = true;
            return \(isTooWide);
          })()
          """
        #expect(
          try await browser.value(isTooWideWithLargeText) as? Bool == false, "\(page) in \(locale)")
      }
      #expect(try await browser.complaints() == [], "\(locale)")
      try await browser.close()
    }
  }
}
