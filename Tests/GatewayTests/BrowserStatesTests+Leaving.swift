import Foundation
import TestSupport
import Testing

/// Forms that are sent and pages that are left meanwhile, and what is found when one comes back.
extension BrowserStatesTests {
  /// Holds all answers of the API until `window.release()`.
  private static let hold = """
    window.hold = new Promise((resolve) => (window.release = resolve))
    """

  private func sent(_ ann: Browser) async throws -> Int? {
    try await ann.value("window.sent.length") as? Int
  }

  /// Until the answers of all actions have come.
  private func answered(_ ann: Browser) async throws {
    try await eventually("all is answered") {
      try await ann.value("sessionStorage.getItem('magpie.outbox')") as? String == "[]"
    }
  }

  @Test("settings are saved by a button, once and together")
  func settings() async throws {
    try await withAnswers { ann in
      // Arrow keys pass other choices.
      try await ann.type("\u{E015}\u{E015}", into: "[name=locale]")
      let chosen = "document.querySelector('[name=locale]').value"
      #expect(try await ann.value(chosen) as? String == "ko")
      let isBusy = try await ann.value(
        """
        (() => {
          const [form] = document.forms;
          form.elements.zone.value = "Asia/Seoul";
          form.elements.zone.dispatchEvent(new Event("change", { bubbles: true }));
          \(Self.hold);
          return window.sent.length === 0;
        })()
        """)
      #expect(isBusy as? Bool == true)
      try await ann.click("form [type=submit]")
      try await ann.click("form [type=submit]")
      let state = "document.querySelector('form [type=submit]').ariaDisabled"
      #expect(try await ann.value(state) as? String == "true")
      _ = try await ann.value("window.release()")
      try await eventually("it is saved, and the page is in the language") {
        let notice = try await ann.text(".notices")
        let language = try await ann.value("document.documentElement.lang") as? String
        return notice == "저장했습니다" && language == "ko"
      }
      #expect(
        try await ann.value("window.sent.map(({ body }) => body).join()") as? String
          == #"{"locale":"ko","zone":"Asia/Seoul"}"#)
    }
  }

  @Test("a form is sent once, and what becomes of it is said on whatever page is shown by then")
  func formsThatAreLeft() async throws {
    try await withAnswers { ann in
      _ = try await ann.value(
        """
        Object.assign(window.screens, {
          "/v1/conversations": page(), "/v1/profiles/ann": { user_id: "ann", nickname: "Ann" },
        })
        """)
      try await go(ann, to: "/reminders")
      let submit = """
        (() => {
          const [form] = document.forms;
          form.elements.title.value = "tea";
          form.elements.at.value = "2040-01-01T08:00";
          form.requestSubmit();
          form.requestSubmit();
          document.querySelector("nav [data-name=messages]").click();
        })()
        """
      _ = try await ann.value("(() => { \(Self.hold); window.isRefused = true; })()")
      _ = try await ann.value(submit)
      #expect(try await sent(ann) == 1)
      _ = try await ann.value("window.release()")
      try await eventually("it is said") { try await !ann.text(".notice.problem").isEmpty }
      _ = try await ann.value("window.isRefused = false")
      try await ann.click(".notice.problem button")
      try await answered(ann)
      #expect(try await sent(ann) == 2)
      // Both times the same reminder.
      let paths = "new Set(window.sent.map(({ pathname }) => pathname)).size"
      #expect(try await ann.value(paths) as? Int == 1)

      try await go(ann, to: "/edit-profile")
      try await eventually("the form is there") {
        try await ann.value("document.forms[0]?.elements.nickname?.value") as? String == "Ann"
      }
      _ = try await ann.value(
        """
        (() => {
          \(Self.hold);
          const [form] = document.forms;
          form.elements.nickname.value = "Anna";
          form.requestSubmit();
          form.requestSubmit();
          document.querySelector("nav [data-name=messages]").click();
          window.release();
        })()
        """)
      try await answered(ann)
      #expect(try await sent(ann) == 3)
      #expect(try await ann.value("location.pathname") as? String == "/messages")
    }
  }

  @Test("what is under way when the page is reloaded is sent")
  func reloads() async throws {
    try await withAnn(at: "/messages/bob") { ann in
      _ = try await ann.value(
        """
        (() => {
          const send = window.fetch;
          window.fetch = (target, options) =>
            options.method === "POST" ? new Promise(() => {}) : send(target, options);
        })()
        """)
      try await ann.type("hello\n", into: ".writing textarea")
      try await eventually("it is on its way") { try await ann.text(".pending .text") == "hello" }
      _ = try await ann.value("location.reload()")
      try await answered(ann)
      let position = "sessionStorage.getItem('magpie.positions') ?? ''"
      #expect(try await (ann.value(position) as? String)?.contains("messages/") == true)
    }
  }

  @Test("who has a token that is refused can sign in again")
  func endOfTheSession() async throws {
    try await withAnn(at: "/settings") { ann in
      _ = try await ann.value(
        """
        (() => {
          const problem = { type: "/problems#invalid-token" };
          window.fetch = async () => Response.json(problem, { status: 401 });
        })()
        """)
      try await go(ann, to: "/")
      try await ann.click(".ended button")
      let kept = "sessionStorage.setItem('magpie.outbox', '[]')"
      try await eventually("there is a field for a token, and the token is gone") {
        try await ann.value(
          "(\(kept), document.querySelector('[name=token]') !== null && !sessionStorage.getItem('magpie.token'))"
        ) as? Bool == true
      }
      let payload = Data(#"{"sub":"somebody-else"}"#.utf8).base64EncodedString()
      try await ann.type("a.\(payload).c", into: "[name=token]")
      try await ann.click("form button")
      try await eventually("what one person did is no other person's") {
        try await ann.value(
          "sessionStorage.getItem('magpie.token') !== null && sessionStorage.getItem('magpie.outbox') === null"
        )
          as? Bool == true
      }
    }
  }

  @Test("rows are read as long as there is room, and again if one asks after a failure")
  func again() async throws {
    try await withAnswers { ann in
      _ = try await ann.value(
        """
        (() => {
          window.isCut = true;
          window.screens["/v1/conversations"] = (search) => {
            const number = Number(new URLSearchParams(search).get("cursor"));
            if (window.isCut && number === 2) throw new TypeError();
            const row = { peer_id: String(number), sent_at: "2020-01-01T00:00:00+00:00" };
            return { items: [row], next: number === 2 ? null : String(number + 1) };
          };
        })()
        """)
      try await go(ann, to: "/messages")
      let rows = "document.querySelectorAll('.conversation').length"
      try await eventually("what went wrong is said below two of the rows") {
        let count = try await ann.value(rows) as? Int
        let trouble = try await ann.text(".list .trouble")
        return count == 2 && trouble != ""
      }
      _ = try await ann.value("window.isCut = false")
      try await ann.click(".list > .more:last-child")
      try await eventually("the third is there, and all is well") {
        let count = try await ann.value(rows) as? Int
        let trouble = try await ann.text(".list .trouble")
        return count == 3 && trouble == ""
      }
    }
  }

  @Test("who goes back finds the page as it was left, with as many rows as that takes")
  func places() async throws {
    try await withAnswers { ann in
      _ = try await ann.value(
        """
        (() => {
          const row = (number) => ({
            post_id: String(number), author_id: "bob", title: `post ${number}`, likes: 0,
            comments: 0, is_followed: true, published_at: "2020-01-01T00:00:00+00:00",
          });
          window.screens["/v1/conversations"] = page();
          window.screens["/v1/following"] = (search) => {
            const query = new URLSearchParams(search);
            const first = Number(query.get("cursor"));
            const items = Array.from(
              { length: Number(query.get("limit")) }, (each, index) => row(first + index));
            return { items, next: String(first + items.length) };
          };
        })()
        """)
      try await go(ann, to: "/following")
      try await eventually("there are many rows") {
        try await ann.value(
          """
          (scrollTo(0, document.documentElement.scrollHeight),
            document.querySelectorAll('.card').length)
          """) as? Int ?? 0 >= 60
      }
      let shown = """
        [...document.querySelectorAll('.card')]
          .find((card) => card.getBoundingClientRect().top >= 0)?.ariaLabel
        """
      var before: String?
      try await eventually("the place is kept") {
        before = try await ann.value(shown) as? String
        return try await ann.value("scrollY > 3000 && history.state.top === scrollY") as? Bool
          == true
      }
      try await go(ann, to: "/messages")
      try await eventually("the page was left") {
        try await ann.value("scrollY === 0 && !document.querySelector('.card')") as? Bool == true
      }
      _ = try await ann.value("history.back()")
      try await eventually("the same is in view") {
        let now = try await ann.value(shown) as? String
        return now != nil && now == before
      }
    }
  }

  @Test("a reminder that is sent again is the same one, and another is another one")
  func sameReminder() async throws {
    try await withAnswers { ann in
      try await go(ann, to: "/reminders")
      _ = try await ann.value("window.isRefused = true")
      for (index, title) in ["tea", "tea", "dentist"].enumerated() {
        _ = try await ann.value(
          """
          (() => {
            const [form] = document.forms;
            form.elements.title.value = "\(title)";
            form.elements.at.value = "2040-01-01T08:00";
            form.requestSubmit();
          })()
          """)
        try await eventually("it is refused") {
          let isOver =
            try await ann.value(
              "document.querySelector('form [type=submit]').ariaDisabled === null") as? Bool
          let count = try await sent(ann)
          return isOver == true && count == index + 1
        }
      }
      let isSame = """
        (([first, second, third]) => [first === second, second === third])(
          window.sent.map(({ pathname }) => pathname))
        """
      #expect(try await ann.value(isSame) as? [Bool] == [true, false])
    }
  }

  @Test("what cannot be sent after a reload is shown, and kept until it is sent or given up")
  func keptActions() async throws {
    try await withAnswers { ann in
      _ = try await ann.value(
        """
        Promise.all(["api", "outbox", "pending"].map((name) => import(`/pages/${name}.js`)))
          .then(([{ prepare }, { keep }, { sendUnanswered }]) => {
            const send = window.fetch;
            window.refusal = ["not-acknowledged", 503];
            window.fetch = (target, options) => {
              if (!window.refusal || options.method !== "POST") return send(target, options);
              const [code, status] = window.refusal;
              // That is longer than an action is sent again by itself.
              const headers = { "Retry-After": "61" };
              return Response.json({ type: `/problems#${code}` }, { status, headers });
            };
            for (const text of ["one", "two", "three", "four"]) {
              keep(prepare("POST", "/v1/conversations/bob", { text }));
            }
            window.leave = () => {
              keep(prepare("DELETE", "/v1/me"));
              sendUnanswered();
            };
            sendUnanswered();
          })
        """)
      func shows(_ texts: String, kept: Int) async throws {
        try await eventually("\(texts) are shown, and \(kept) actions kept") {
          let shown =
            try await ann.value(
              """
              [...document.querySelectorAll('.notice.problem .text')]
                .map(({ textContent }) => textContent).join()
              """) as? String
          let count =
            try await ann.value("JSON.parse(sessionStorage.getItem('magpie.outbox')).length")
            as? Int
          return shown == texts && count == kept
        }
      }
      try await shows("one,two,three,four", kept: 4)
      try await ann.click(".notice.problem .plain")
      try await shows("two,three,four", kept: 3)
      // A new token may be accepted, but a wrong text never is.
      _ = try await ann.value("window.refusal = ['invalid-token', 401]")
      try await ann.click(".notice.problem button")
      try await shows("three,four,two", kept: 3)
      _ = try await ann.value("window.refusal = ['invalid-member', 422]")
      try await ann.click(".notice.problem button")
      try await shows("four,two,three", kept: 2)
      _ = try await ann.value("window.refusal = null")
      try await ann.click(".notice.problem button")
      try await shows("two,three", kept: 1)
      _ = try await ann.value("window.leave()")
      try await eventually("who has left is signed out") {
        try await ann.value("document.querySelector('[name=token]') !== null") as? Bool == true
      }
    }
  }

  @Test("what is turned on again goes from the list, also if two are at once")
  func turnedOn() async throws {
    try await withAnswers { ann in
      _ = try await ann.value(
        """
        (() => {
          const mutes = ["F00", "F01"].map((kind) => (
            { scope: "kind", kind, value: "", since: "2020-01-01T00:00:00+00:00", until: null }));
          window.screens["/v1/settings"] = () => ({ mutes: [...mutes], locale: "en", zone: "" });
          window.forget = () => mutes.shift();
        })()
        """)
      try await go(ann, to: "/settings")
      let rows = "document.querySelectorAll('.panel .row').length"
      try await eventually("both are there") { try await ann.value(rows) as? Int == 2 }
      // The first answer has one of them still.
      _ = try await ann.value(
        """
        (() => {
          const read = window.screens["/v1/settings"];
          window.screens["/v1/settings"] = () => (window.forget(), read());
          for (const button of document.querySelectorAll(".panel .row button")) button.click();
        })()
        """)
      try await eventually("none is there") { try await ann.value(rows) as? Int == 0 }
    }
  }

  @Test("a list reads on by itself only while there is more to see")
  func ends() async throws {
    try await withAnswers { ann in
      _ = try await ann.value(
        """
        Promise.all([import("/pages/list.js"), import("/pages/dom.js")])
          .then(([{ createList }, { element }]) => {
            // As in a browser that does not hold the rows in view while others above them go.
            document.documentElement.style.overflowAnchor = "none";
            window.screens["/v1/home"] = (search) => {
              const query = new URLSearchParams(search);
              const first = Number(query.get("cursor"));
              const items = Array.from(
                { length: Number(query.get("limit")) },
                (each, index) => ({ cursor: String(first + index + 1) }));
              window.last = items.at(-1).cursor;
              return { items, next: window.last };
            };
            window.showRows = (hidden) => {
              const list = createList({
                address: "/v1/home", label: "", empty: "", keyOf: ({ cursor }) => cursor,
                build: ({ cursor }) => element("li", { hidden }, cursor),
              });
              document.querySelector("main").replaceChildren(list.element);
              list.refresh();
            };
          })
        """)
      func readsUpTo(_ last: String) async throws {
        try await eventually("\(last) rows were read") {
          try await ann.value(
            "(scrollTo(0, document.documentElement.scrollHeight), window.last)") as? String == last
        }
      }
      let later = "new Promise((resolve) => setTimeout(resolve, 300)).then(() => window.last)"
      _ = try await ann.value("window.showRows(true)")
      try await readsUpTo("40")
      #expect(try await ann.value(later) as? String == "40")
      // Two hundred are shown at once.
      _ = try await ann.value("window.showRows(false)")
      try await readsUpTo("220")
      #expect(try await ann.value(later) as? String == "220")
    }
  }

  @Test("the first message of a chat is said")
  func firstMessage() async throws {
    try await withAnswers { ann in
      _ = try await ann.value("window.screens['/v1/conversations/bob'] = page()")
      try await go(ann, to: "/messages/bob")
      try await eventually("the chat is empty") {
        try await !ann.text(".list > .empty:not([hidden])").isEmpty
      }
      _ = try await ann.value(
        """
        window.screens["/v1/conversations/bob"] = page({
          message_id: "1", sender_id: "bob", sender_name: "Bob", text: "hi", is_read: true,
          sent_at: "2020-01-01T00:00:00+00:00",
        })
        """)
      // What is sent is looked for.
      try await ann.type("hello\n", into: ".writing textarea")
      try await eventually("it is said") { try await ann.text("body > .hidden") == "Bob: hi" }
    }
  }
}
