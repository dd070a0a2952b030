import Foundation
import TestSupport
import Testing

@testable import Gateway

/// States of the pages that people seldom see, in Chromium: what is refused, late or out of sight.
@Suite(.serialized, .enabled(if: BrowserDriver.isInstalled)) struct BrowserStatesTests {
  /// A window of Ann's at a page of a gateway without workers.
  func withAnn(
    at page: String, _ body: (_ ann: Browser) async throws -> Void
  ) async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    let driver = try await BrowserDriver()
    defer { driver.stop() }
    let ann = try await Browser(driver)
    try await ann.open(stack.page(page, as: "ann"))
    try await eventually("the page is live") { try await ann.isLive() }
    try await body(ann)
    try await ann.close()
  }

  @Test("a page that nobody looks at has no stream; what a stream brings is counted and said right")
  func streams() async throws {
    try await withAnn(at: "/") { ann in
      // Pauses are over at once, and notices stay. The next streams are the test's.
      _ = try await ann.value(
        """
        (() => {
          const later = window.setTimeout;
          const pauses = new Map([[30000, 0], [3000, 0], [10_000, 2 ** 31 - 1]]);
          window.setTimeout = (run, pause) => later(run, pauses.get(pause) ?? pause);
          window.look = (isHidden) => {
            Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
          };
          const send = window.fetch;
          const encoder = new TextEncoder();
          window.asked = 0;
          window.fetch = (target, options) => {
            if (!target.startsWith("/v1/stream")) return send(target, options);
            window.asked += 1;
            return new Promise((resolve, reject) => {
              options.signal.addEventListener("abort", () => reject(options.signal.reason));
              window.connect = () => resolve(new Response(new ReadableStream({
                start: (stream) => {
                  options.signal.addEventListener(
                    "abort", () => stream.error(options.signal.reason));
                  window.tell = (type, state) => stream.enqueue(
                    encoder.encode(`event: ${type}\\ndata: ${JSON.stringify(state)}\\n\\n`));
                },
              })));
            });
          };
          window.look(true);
        })()
        """)
      func getsStream(_ number: Int) async throws {
        try await eventually("it asks for stream \(number), and says that it has none yet") {
          let isAsked = try await ann.value("window.asked") as? Int == number
          let isSaid = try await !ann.text(".status").isEmpty
          return isAsked && isSaid
        }
        _ = try await ann.value("window.connect()")
        try await eventually("it has stream \(number)") { try await ann.isLive() }
      }
      try await eventually("it has no stream") { try await !ann.isLive() }
      _ = try await ann.value("window.look(false)")
      try await getsStream(1)
      #expect(try await ann.text(".status") == "")
      // It has been silent for long, as if the device had slept.
      _ = try await ann.value(
        """
        (() => {
          const now = Date.now;
          Date.now = () => now() + 25_000;
          window.look(false);
          Date.now = now;
        })()
        """)
      try await getsStream(2)
      _ = try await ann.value(
        """
        (() => {
          const alarm = (second) => ({
            notification_id: String(second), unseen: true, unread: true, locale: "en",
            raised_at: `2026-01-01T00:00:0${second}+00:00`, segments: [{ text: `alarm ${second}` }],
          });
          window.tell("alarms", { items: [], next: null });
          window.tell("alarms", { items: [alarm(3), alarm(2)], next: "a" });
          window.tell("alarms", { items: [alarm(3), alarm(1)], next: null });
          window.tell("alarms", { items: [alarm(4), alarm(3)], next: "a" });
          window.tell("alarms", { items: [alarm(4), alarm(0), alarm(3)], next: "a" });
          const older = { ...alarm(4), raised_at: alarm(2).raised_at };
          window.tell("alarms", { items: [older, alarm(0), alarm(3)], next: "a" });
          window.tell("conversations", { items: [{ unread: 2 }, { unread: 1 }], next: "a" });
        })()
        """)
      try await eventually("there may be more unread messages than those of the first page") {
        try await ann.text("nav [data-name=messages] .badge") == "3+"
      }
      // One took the place of another that was removed; one is of an earlier time, but new; of one, the newest
      // like was taken back.
      #expect(try await ann.text(".notices") == "alarm 3alarm 4alarm 0")
      let height = "document.querySelector('nav [data-name=messages] .badge').offsetHeight"
      #expect(try await ann.value(height) as? Int ?? 99 < 24)
      _ = try await ann.value("document.querySelector('.notices a').click()")
      try await eventually("the gateway is told that the one that was opened is read") {
        try await ann.value(
          """
          performance.getEntriesByType("resource")
            .some(({ name }) => name.endsWith("/v1/alarms/3/read"))
          """) as? Bool == true
      }
    }
  }

  @Test("what is refused after one has left the page is there again, and can be corrected")
  func refusals() async throws {
    try await withAnn(at: "/messages/bob") { ann in
      _ = try await ann.value(
        """
        (() => {
          const send = window.fetch;
          window.fetch = (target, options) => {
            if (options.method !== "POST") return send(target, options);
            return new Promise((resolve) => {
              const problem = { type: "/problems#invalid-member" };
              window.refuse = () => resolve(Response.json(problem, { status: 422 }));
            });
          };
        })()
        """)
      try await ann.type("hello\n", into: ".writing textarea")
      try await eventually("it is on its way") { try await ann.text(".pending .text") == "hello" }
      try await ann.click("nav [data-name=messages]")
      try await eventually("the page was left") { try await ann.text(".pending") == "" }
      _ = try await ann.value("window.refuse()")
      try await eventually("it is said") { try await !ann.text(".notice.problem").isEmpty }
      _ = try await ann.value("history.back()")
      try await eventually("it is there") { try await ann.text(".pending .text") == "hello" }
      _ = try await ann.value("document.querySelector('.pending [data-action=edit]').click()")
      #expect(try await ann.text(".notice.problem") == "")
      let written = "document.querySelector('.writing textarea').value"
      #expect(try await ann.value(written) as? String == "hello")
      #expect(try await ann.text(".pending") == "")
    }
  }

  @Test("all alarms up to the click are removed; a reminder is not in the past")
  func times() async throws {
    try await withAnn(at: "/alarms") { ann in
      let isBefore = try await ann.value(
        """
        new Promise((resolve) => {
          const send = window.fetch;
          let answered = 0;
          window.confirm = () => {
            const asked = Date.now();
            while (Date.now() - asked < 20) {}
            return Boolean(answered = Date.now());
          };
          window.fetch = (target, options) => {
            if (options.method === "DELETE") {
              resolve(Date.parse(options.headers["Magpie-Time"]) < answered - 10);
            }
            return send(target, options);
          };
          document.querySelector(".tools button:last-child").click();
        })
        """)
      #expect(isBefore as? Bool == true)
      try await ann.click("nav [data-name=reminders]")
      try await eventually("the form is there") {
        try await ann.value("Boolean(document.forms[0]?.elements.at)") as? Bool == true
      }
      let problems = try await ann.value(
        """
        ["2020-01-01T08:00", "2040-01-01T08:00"].map((time) => {
          const { at } = document.forms[0].elements;
          at.value = time;
          at.dispatchEvent(new Event("input", { bubbles: true }));
          return at.validationMessage;
        })
        """)
      let texts = try #require(problems as? [String])
      #expect(texts[0].hasPrefix("That time is past in ") && texts[1] == "")
      // This device's clock is wrong.
      let now = """
        Promise.all(["clock", "time"].map((name) => import(`/pages/${name}.js`)))
          .then(([{ noteServerTime }, { localNow }]) => {
            noteServerTime("Fri, 01 Jan 2100 12:00:30 GMT");
            return localNow("UTC");
          })
        """
      #expect(try await ann.value(now) as? String == "2100-01-01T12:00")
    }
  }

  @Test("who writes is not disturbed, names are clean, and the focus stays in the list")
  func modules() async throws {
    try await withAnn(at: "/search") { ann in
      try await ann.type("x", into: "main input")
      let writing = """
        (async () => {
          const { whenNobodyWrites } = await import("/pages/typing.js");
          const free = whenNobodyWrites().then(() => (window.isFree = true));
          return Promise.race([free, new Promise((resolve) => setTimeout(resolve, 0, "no"))]);
        })()
        """
      #expect(try await ann.value(writing) as? String == "no")
      _ = try await ann.value("document.activeElement.blur()")
      #expect(try await ann.value(writing) as? String == "no")
      _ = try await ann.value("document.querySelector('main input').value = ''")
      try await eventually("nobody writes") {
        try await ann.value("Boolean(window.isFree)") as? Bool == true
      }
      let isKept = """
        (async () => {
          const [{ applyLocale }, { locale }] =
            await Promise.all(["shell", "locale"].map((name) => import(`/pages/${name}.js`)));
          const before = document.querySelector("nav");
          applyLocale(locale());
          return before.isConnected;
        })()
        """
      #expect(try await ann.value(isKept) as? Bool == true)
      let names = """
        import("/pages/names.js").then(({ cleaned }) => JSON.stringify([
          "\\u202eevil\\u202c", "\\u200f\\u061c \\u2066", "\\u3164", null, " 민지\\n🌸", "👩🏽‍🚀", "❤️", "a\\ufeffb", "\\u0301a",
          String(cleaned("x" + "\\u0302\\u0303\\u0304\\u0305\\u200d".repeat(90)).length),
        ].map(cleaned)))
        """
      #expect(
        try await ann.value(names) as? String == #"["evil","","","","민지 🌸","👩🏽‍🚀","❤️","ab","a","7"]"#)
      let mentions = """
        import("/pages/writing.js").then(({ mentionsIn }) =>
          mentionsIn(`@a @${"가".repeat(43)} @b.`).join())
        """
      #expect(try await ann.value(mentions) as? String == "a,b")
      let focused = """
        Promise.all([import("/pages/rows.js"), import("/pages/dom.js")])
          .then(([{ exchange }, { element }]) => {
            const row = (id, isHidden = false) => element(
              "li", { hidden: isHidden }, element("button", { "data-action": "open", id }));
            const rows = [row("a"), row("b"), row("c", true), row("d")];
            document.querySelector("main").append(element("ul", {}, ...rows));
            rows[1].firstChild.focus();
            exchange(rows[1], row("b", true));
            const next = document.activeElement.id;
            exchange(rows[3], row("d", true));
            return `${next} ${document.activeElement.tagName}`;
          })
        """
      #expect(try await ann.value(focused) as? String == "d H1")
      let notices = """
        import("/pages/notice.js").then(({ say, showProblem }) => {
          showProblem(Object.assign(new Error(), { words: "no" }), () => {});
          for (let count = 0; count < 5; count += 1) say("yes");
          return document.querySelector(".notices").innerText.match(/no|yes/g).join();
        })
        """
      #expect(try await ann.value(notices) as? String == "no,yes,yes,yes")
    }
  }

  @Test("an older comment is found; what one does stays while workers are late, and is said once")
  func lateWorkers() async throws {
    let stack = try await GatewayStack(waitSeconds: 1)
    defer { stack.stop() }
    try stack.startWorkers()
    let (post, after) = try await stack.publishPost(as: "bob")
    let path = "/v1/posts/\(post)"
    try await eventually("the post is there") {
      try await stack.send("GET", path, as: "ann", headers: ["Magpie-After": after]).status == 200
    }
    for number in 0..<45 {
      _ = try await stack.send(
        "POST", path + "/comments", as: "bob", body: #"{"text":"\#(number)"}"#)
    }
    var last: String?
    try await eventually("the comments are there") {
      let comments = try await stack.send("GET", path + "/comments?limit=200", as: "ann")
      let rows = try comments.json["items"] as? [[String: Any]] ?? []
      last = rows.last?["comment_id"] as? String
      return rows.count == 45
    }
    let driver = try await BrowserDriver()
    defer { driver.stop() }
    let ann = try await Browser(driver)
    let page = try stack.page("/post/\(post)", as: "ann")
    try await ann.open(page)
    try await eventually("the page is live") { try await ann.isLive() }
    let target = try #require(last)
    _ = try await ann.value(
      "import('/pages/router.js').then(({ go }) => go('/post/\(post)#comment=\(target)'))")
    try await eventually("the comment is found") {
      try await ann.value("document.querySelector('.target')?.dataset.key") as? String == target
    }
    var top: Double?
    try await eventually("the place is kept") {
      top = try await ann.value("history.state.top ?? 0") as? Double
      return top ?? 0 > 844
    }
    let kept = try #require(top)
    _ = try await ann.value("location.reload()")
    try await eventually("the page is live again, at that place") {
      let isThere =
        try await ann.value("Math.abs(scrollY - \(kept)) < innerHeight") as? Bool == true
      let isLive = try await ann.isLive()
      return isThere && isLive
    }

    for worker in GatewayStack.workers { stack.endWorker(worker) }
    _ = try await ann.value(
      """
      (() => {
        window.said = 0;
        new MutationObserver((changes) => {
          for (const { addedNodes } of changes) window.said += addedNodes.length;
        }).observe(document.querySelector(".notices"), { childList: true });
      })()
      """)
    // A click of the driver's would scroll it below the bar.
    _ = try await ann.value("document.querySelector('.like').click()")
    try await eventually("it was looked for several times") {
      try await ann.value(
        """
        performance.getEntriesByType("resource")
          .filter(({ name, responseStatus }) => name.endsWith("\(path)") && responseStatus === 503)
          .length
        """) as? Int ?? 0 >= 3
    }
    let liked = "document.querySelector('.like').ariaPressed"
    #expect(try await ann.value(liked) as? String == "true")
    #expect(try await ann.value("window.said") as? Int == 1)
    try stack.startWorkers()
    try await eventually("it is applied, and the page has read it") {
      let isOver =
        try await ann.value(
          """
          import("/pages/optimistic.js")
            .then(({ drafted }) => !drafted("post/\(post)", { is_liked: false }).is_liked)
          """) as? Bool == true
      let isLiked = try await ann.value(liked) as? String == "true"
      return isOver && isLiked
    }
    try await ann.close()
  }
}
