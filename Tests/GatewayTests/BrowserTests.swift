import Foundation
import TestSupport
import Testing

@testable import Gateway

/// The pages in Chromium, with the worker processes: two people in two windows.
@Suite(.serialized, .enabled(if: BrowserDriver.isInstalled)) struct BrowserTests {
  /// A window of Ann's and one of Bob's; both have profiles.
  func withTwo(
    _ body: (_ stack: GatewayStack, _ ann: Browser, _ bob: Browser) async throws -> Void
  ) async throws {
    let stack = try await GatewayStack(waitSeconds: 60)
    defer { stack.stop() }
    try stack.startWorkers()
    for (person, nickname) in [("ann", "<i>Ann</i> 🌸"), ("bob", "Bob")] {
      let body = #"{"nickname":"\#(nickname)","locale":"en"}"#
      let edit = try await stack.send("PATCH", "/v1/profile", as: person, body: body)
      try await read("/v1/profiles/\(person)", as: person, after: edit, stack)
    }
    let driver = try await BrowserDriver()
    defer { driver.stop() }
    let ann = try await Browser(driver)
    let bob = try await Browser(driver)
    try await body(stack, ann, bob)
    for browser in [ann, bob] {
      #expect(try await browser.complaints() == [])
      try await browser.close()
    }
  }

  /// Reads a screen once it contains what an action did.
  func read(
    _ path: String, as person: String, after action: Answer, _ stack: GatewayStack
  ) async throws {
    let position = try #require(action.headers["magpie-position"])
    let answer = try await stack.send(
      "GET", path, as: person, headers: ["Magpie-After": position])
    #expect(answer.status == 200)
  }

  @Test("one likes in a window and the other one's window says so; after a tunnel, too")
  func likes() async throws {
    try await withTwo { stack, ann, bob in
      let post = try await stack.send(
        "POST", "/v1/posts", as: "bob", body: #"{"title":"<b>one</b>"}"#)
      let id = try #require(try post.json["id"] as? String)
      try await read("/v1/posts/\(id)", as: "ann", after: post, stack)
      try await ann.open(stack.page("/post/\(id)", as: "ann"))
      try await bob.open(stack.page("/", as: "bob"))
      #expect(try await bob.value("location.hash") as? String == "")
      try await eventually("both are live, and Ann sees the post") {
        guard try await ann.isLive(), try await bob.isLive() else { return false }
        return try await ann.text("article .title") == "<b>one</b>"
      }
      // In the turn of the click, before any answer can have come.
      #expect(
        try await ann.value(
          "(document.querySelector('.like').click(), document.querySelector('.like').ariaPressed)")
          as? String == "true")
      let clicked = ContinuousClock.now
      try await eventually("Bob's title and bell count the like") {
        let title = try await bob.value("document.title") as? String ?? ""
        let badge = try await bob.text("nav [data-name=alarms] .badge")
        return title.hasPrefix("(1)") && badge == "1"
      }
      // The aim is a second. A test measures no time; this says it.
      print("the like was seen after \(ContinuousClock.now - clicked)")
      try await ann.open(stack.page("/post/\(id)", as: "ann"))
      // What the first answer says, not what a later one corrects: it contains one's own like.
      var pressed: String?
      try await eventually("the post is there again") {
        pressed = try await ann.value("document.querySelector('.like')?.ariaPressed") as? String
        return pressed != nil
      }
      #expect(pressed == "true")

      try await bob.setOffline(true)
      try await eventually("Bob is cut off") { try await !bob.isLive() }
      try await ann.type("hello\n", into: ".writing textarea")
      try await eventually("Ann's comment is stored") {
        try await ann.text(".comment:not(.pending) .text") == "hello"
      }
      #expect(try await bob.text("nav [data-name=alarms] .badge") == "1")
      try await bob.setOffline(false)
      try await eventually("Bob has caught up") {
        (try await bob.value("document.title") as? String ?? "").hasPrefix("(2)")
      }
      try await bob.click("nav [data-name=alarms]")
      try await eventually("the list is there, and seen") {
        let title = try await bob.value("document.title") as? String ?? ""
        let rows = try await bob.value("document.querySelectorAll('.alarm').length") as? Int
        return rows == 2 && !title.hasPrefix("(")
      }
      #expect(try await bob.text(".alarm .highlight-bold") == "<i>Ann</i> 🌸")
    }
  }

  @Test("a change whose screen cannot be read at once is shown later, without another change")
  func failedReads() async throws {
    try await withTwo { stack, ann, _ in
      try await ann.open(stack.page("/messages/bob", as: "ann"))
      try await eventually("Ann's chat is live") {
        let isEmpty = try await ann.text(".list .empty") == "Say hello"
        let isLive = try await ann.isLive()
        return isEmpty && isLive
      }
      // All requests fail, and the stream stays open.
      _ = try await ann.value(
        """
        (() => {
          const send = window.fetch;
          Object.assign(window, { isCut: true, failures: 0 });
          window.fetch = (...request) => {
            if (!window.isCut) return send(...request);
            window.failures += 1;
            return Promise.reject(new TypeError());
          };
        })()
        """)
      _ = try await stack.send("POST", "/v1/conversations/ann", as: "bob", body: #"{"text":"hi"}"#)
      try await eventually("the page has tried to read it, twice") {
        try await ann.value("window.failures") as? Int ?? 0 >= 2
      }
      #expect(try await ann.text(".message .text") == "")
      _ = try await ann.value("window.isCut = false")
      try await eventually("the message is there") {
        try await ann.text(".message .text") == "hi"
      }
    }
  }

  @Test("a follow is followed back, and a chat goes both ways")
  func followsAndMessages() async throws {
    try await withTwo { stack, ann, bob in
      try await ann.open(stack.page("/u/bob", as: "ann"))
      try await bob.open(stack.page("/alarms", as: "bob"))
      try await ann.click(".profile .follow")
      try await eventually("Bob is told, and can follow back") {
        try await bob.text(".alarm .follow") == "Follow back"
      }
      try await bob.click(".alarm .follow")
      try await eventually("Ann's page says that he follows her") {
        try await ann.text(".profile .tag") == "follows you"
      }

      try await ann.open(stack.page("/messages/bob", as: "ann"))
      try await ann.type("안녕 🌸\n", into: ".writing textarea")
      try await bob.open(stack.page("/messages", as: "bob"))
      try await bob.click(".conversation")
      try await eventually("Bob reads it, and Ann sees that") {
        let text = try await bob.text(".message .text")
        let isRead = try await !ann.text(".message.own .read").isEmpty
        return text == "안녕 🌸" && isRead
      }
      try await bob.type("مرحبا\n", into: ".writing textarea")
      try await eventually("Ann has the answer, in its own direction") {
        try await ann.value(
          "getComputedStyle(document.querySelector('.message:not(.own) .text') ?? document.body)"
            + ".direction") as? String == "rtl"
      }
      #expect(try await ann.text(".message:not(.own) .text") == "مرحبا")
      // A screen reader says the message, and not what changes around it.
      #expect(try await ann.text("body > [role=status].hidden") == "Bob: مرحبا")
    }
  }
}
