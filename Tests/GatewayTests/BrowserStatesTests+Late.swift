import TestSupport
import Testing

/// What one does while workers are late. The answers of the API are the test's.
extension BrowserStatesTests {
  /// Ann's window at her settings, from where a test that has set up `window.screens` goes on. While
  /// `window.isLate`, no action is applied.
  func withAnswers(_ body: (_ ann: Browser) async throws -> Void) async throws {
    try await withAnn(at: "/settings") { ann in
      _ = try await ann.value(
        """
        (() => {
          const send = window.fetch;
          let offset = 0;
          Object.assign(window, { isLate: false, screens: {}, sent: [], hold: Promise.resolve() });
          window.page = (...items) => ({ items, next: null });
          window.confirm = () => true;
          const answer = (body, status = 200) =>
            Response.json(body, { status, headers: { "Magpie-Position": `likes/0@${offset += 1}` } });
          window.fetch = async (target, options) => {
            const { pathname, search } = new URL(target, location.href);
            const screen = window.screens[pathname];
            const isAction = !["GET", undefined].includes(options.method);
            if (!isAction && screen === undefined) return send(target, options);
            if (isAction) window.sent.push({ pathname, body: options.body });
            await window.hold;
            options.signal.throwIfAborted();
            if (isAction) {
              return window.isRefused
                ? answer({ type: "/problems#invalid-member" }, 422) : answer({ id: "made" });
            }
            return window.isLate && options.headers["Magpie-After"]
              ? answer({ type: "/problems#not-applied-yet" }, 503)
              : Response.json(typeof screen === "function" ? screen(search) : screen);
          };
        })()
        """)
      try await body(ann)
    }
  }

  func go(_ ann: Browser, to page: String) async throws {
    _ = try await ann.value("import('/pages/router.js').then(({ go }) => go('\(page)'))")
  }

  /// The ids of the alarms that are shown.
  private func alarms(_ ann: Browser) async throws -> String? {
    try await ann.value(
      """
      [...document.querySelectorAll(".alarm:not([hidden])")].map(({ dataset }) => dataset.key).join()
      """) as? String
  }

  @Test("who removes alarms and leaves finds them removed, but not those that were raised since")
  func alarmsThatComeMeanwhile() async throws {
    try await withAnswers { ann in
      _ = try await ann.value(
        """
        (() => {
          window.alarm = (id, year) => ({
            notification_id: id, unseen: false, unread: true, locale: "en", actor_count: 1,
            raised_at: `${year}-01-01T00:00:00+00:00`, segments: [{ text: id }],
          });
          window.screens["/v1/alarms"] = window.page(window.alarm("a", 2020));
          window.screens["/v1/conversations"] = window.page();
        })()
        """)
      try await go(ann, to: "/alarms")
      try await eventually("the alarm is there") { try await alarms(ann) == "a" }
      // Both before any answer.
      _ = try await ann.value(
        """
        (() => {
          window.isLate = true;
          document.querySelector(".tools button:last-child").click();
          document.querySelector("nav [data-name=messages]").click();
          window.screens["/v1/alarms"] =
            window.page(window.alarm("b", 2100), window.alarm("a", 2020));
        })()
        """)
      try await eventually("it is stored") {
        try await ann.value("sessionStorage.getItem('magpie.positions') ?? ''") as? String != ""
      }
      try await go(ann, to: "/alarms")
      try await eventually("only what came since is there") { try await alarms(ann) == "b" }
      let isOver = """
        import("/pages/optimistic.js")
          .then(({ drafted }) => !drafted("alarms", window.alarm("a", 2020)).is_removed)
        """
      #expect(try await ann.value(isOver) as? Bool == false)
      _ = try await ann.value("window.isLate = false")
      try await go(ann, to: "/messages")
      try await eventually("what any screen says that contains it is the truth") {
        try await ann.value(isOver) as? Bool == true
      }
    }
  }

  @Test("what is acknowledged after one has left stays until the list was read with it")
  func postsThatWait() async throws {
    try await withAnswers { ann in
      _ = try await ann.value(
        "Object.assign(window.screens, { '/v1/home': page(), '/v1/conversations': page() })")
      try await go(ann, to: "/")
      try await eventually("the list is there") {
        try await !ann.text(".list > .empty:not([hidden])").isEmpty
      }
      _ = try await ann.value(
        """
        (() => {
          window.isLate = true;
          window.hold = new Promise((resolve) => (window.acknowledge = resolve));
          const form = document.querySelector(".composer form");
          form.elements.title.value = "hello";
          form.requestSubmit();
          document.querySelector("nav [data-name=messages]").click();
          window.acknowledge();
        })()
        """)
      try await eventually("it is stored") {
        try await ann.value("sessionStorage.getItem('magpie.positions') ?? ''") as? String != ""
      }
      try await go(ann, to: "/")
      try await eventually("it is there") { try await ann.text(".pending .state") == "Sent" }
      // Others have written so much that its row is on another page.
      _ = try await ann.value("window.isLate = false")
      try await go(ann, to: "/messages")
      try await go(ann, to: "/")
      try await eventually("it is a row, somewhere") {
        let isRead = try await !ann.text(".list > .empty:not([hidden])").isEmpty
        let pending = try await ann.text(".pending")
        return isRead && pending == ""
      }
    }
  }

  @Test("one person is followed everywhere on a page at once, and nowhere if that is refused")
  func everywhere() async throws {
    try await withAnswers { ann in
      _ = try await ann.value(
        """
        (() => {
          const person = { is_followed: false, follows_viewer: false };
          const post = {
            ...person, post_id: "1", author_id: "bob", title: "one", likes: 0, comments: 0,
            published_at: "2020-01-01T00:00:00+00:00",
          };
          window.screens["/v1/profiles/bob"] = { ...person, user_id: "bob", shown_name: "Bob" };
          window.screens["/v1/profiles/bob/posts"] = window.page(post);
        })()
        """)
      try await go(ann, to: "/u/bob")
      let states = """
        [...new Set([...document.querySelectorAll(".follow")].map((each) => each.innerText))].join()
        """
      try await eventually("all is there") {
        let state = try await ann.value(states) as? String
        let hasPost = try await !ann.text(".card .follow").isEmpty
        return state == "Follow" && hasPost
      }
      let followed = """
        (() => {
          window.isRefused = true;
          document.querySelector(".profile .follow").click();
          return \(states);
        })()
        """
      #expect(try await ann.value(followed) as? String == "Following")
      try await eventually("it is taken back") {
        let isSaid = try await !ann.text(".notice.problem").isEmpty
        let state = try await ann.value(states) as? String
        return isSaid && state == "Follow"
      }
    }
  }

  @Test("what was done last shows when it is applied before what was done first")
  func overtaking() async throws {
    try await withAnswers { ann in
      _ = try await ann.value(
        """
        (() => {
          const person = { user_id: "bob", shown_name: "Bob", follows_viewer: false };
          window.screens["/v1/profiles/bob"] = { ...person, is_followed: false };
          window.screens["/v1/profiles/bob/posts"] = window.page();
        })()
        """)
      try await go(ann, to: "/u/bob")
      let state = "document.querySelector('.profile .follow')?.innerText"
      try await eventually("all is there") { try await ann.value(state) as? String == "Follow" }
      // The first action has no answer.
      _ = try await ann.value(
        """
        (() => {
          window.hold = new Promise(() => {});
          document.querySelector(".profile .follow").click();
          window.hold = Promise.resolve();
          document.querySelector(".profile .follow").click();
        })()
        """)
      #expect(try await ann.value(state) as? String == "Follow")
      try await eventually("the second is applied and read") {
        try await ann.value(
          """
          import("/pages/optimistic.js").then(({ drafted }) =>
            !("is_followed" in drafted("person/bob", {})))
          """) as? Bool == true
      }
      #expect(try await ann.value(state) as? String == "Follow")
    }
  }

  @Test("who asks for more while the list is read again gets more")
  func moreMeanwhile() async throws {
    try await withAnswers { ann in
      _ = try await ann.value(
        """
        Promise.all([import("/pages/list.js"), import("/pages/dom.js")])
          .then(async ([{ createList }, { element }]) => {
            window.screens["/v1/home"] = (search) =>
              search.includes("cursor=") ? page("b") : { items: ["a"], next: "a" };
            const list = createList({
              address: "/v1/home", label: "", empty: "", keyOf: (row) => row,
              build: (row) => element("li", {}, row),
            });
            await list.refresh();
            let release;
            window.hold = new Promise((resolve) => (release = resolve));
            list.refresh();
            // What it does at once is done.
            await new Promise((resolve) => setTimeout(resolve, 0));
            list.element.querySelector(".more:last-child").click();
            release();
            window.rows = list.element.querySelector(".rows");
          })
        """)
      try await eventually("both pages are there") {
        try await ann.value("window.rows.textContent") as? String == "ab"
      }
    }
  }
}
