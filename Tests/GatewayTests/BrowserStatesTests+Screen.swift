import TestSupport
import Testing

/// What is within a phone's screen, and not under a bar. The answers of the API are the test's.
extension BrowserStatesTests {
  /// Whether a click at the lower edge of what a variable names would meet it.
  private func isFree(_ name: String) -> String {
    """
    (({ left, bottom }) => \(name).contains(document.elementFromPoint(left + 20, bottom - 5)))(
      \(name).getBoundingClientRect())
    """
  }

  @Test("the whole menu of the last row of a long list can be reached")
  func lastMenu() async throws {
    try await withAnswers { ann in
      _ = try await ann.value(
        """
        window.screens["/v1/alarms"] = page(...Array.from({ length: 20 }, (each, index) => ({
          notification_id: String(index), actor_id: "bob", actor_name: "Bob", kind: "F01",
          unseen: false, unread: false, locale: "en", actor_count: 1, segments: [{ text: "hi" }],
          raised_at: "2020-01-01T00:00:00+00:00",
        })))
        """)
      try await go(ann, to: "/alarms")
      try await eventually("the list is there") {
        try await ann.value("document.querySelectorAll('.alarm').length") as? Int == 20
      }
      let isLastFree = """
        (() => {
          document.querySelector(".alarm:last-child summary").click();
          scrollTo(0, document.documentElement.scrollHeight);
          const last = document.querySelector(".alarm:last-child .choices > :last-child");
          return \(isFree("last"));
        })()
        """
      #expect(try await ann.value(isLastFree) as? Bool == true)
    }
  }

  @Test("older messages move nothing that is shown; what could not be sent is in view, and clear")
  func chat() async throws {
    try await withAnswers { ann in
      _ = try await ann.value(
        """
        (() => {
          window.screens["/v1/conversations/bob"] = (search) => {
            const query = new URLSearchParams(search);
            const first = Number(query.get("cursor"));
            const items = Array.from({ length: Number(query.get("limit")) }, (each, index) => ({
              message_id: String(first + index), sender_id: "bob", sender_name: "Bob", text: "hi",
              is_read: true, sent_at: "2020-01-01T00:00:00+00:00",
            }));
            return { items, next: String(first + items.length) };
          };
        })()
        """)
      try await go(ann, to: "/messages/bob")
      let count = "document.querySelectorAll('.message').length"
      try await eventually("the chat is at its end") {
        try await ann.value("\(count) === 30 && scrollY > 500") as? Bool == true
      }
      let top = "document.querySelector('[data-key=\"29\"]').getBoundingClientRect().top"
      // At the top, browsers do not hold what is shown.
      _ = try await ann.value(
        "(scrollTo(0, 0), window.before = \(top), document.querySelector('.list > .more').click())")
      try await eventually("older messages are there") {
        try await ann.value(count) as? Int == 60
      }
      #expect(try await ann.value("Math.abs(\(top) - window.before) < 2") as? Bool == true)

      _ = try await ann.value(
        """
        (() => {
          window.isRefused = true;
          window.hold = new Promise((resolve) => (window.release = resolve));
        })()
        """)
      try await ann.type("hello\n", into: ".writing textarea")
      try await eventually("it is on its way, at the end") {
        try await ann.value(
          """
          document.querySelector(".pending") !== null
            && scrollY + innerHeight >= document.documentElement.scrollHeight - 1
          """) as? Bool == true
      }
      _ = try await ann.value("window.release()")
      try await eventually("it is refused") {
        try await ann.value("document.querySelectorAll('.pending button').length") as? Int == 2
      }
      let isClear = """
        [...document.querySelectorAll(".pending button")].every((button) => {
          const bubble = button.closest(".pending");
          const faint = [bubble, ...bubble.children].filter(
            (each) => getComputedStyle(each).opacity !== "1");
          const isLegible = getComputedStyle(button).color === getComputedStyle(bubble).color;
          return \(isFree("button")) && isLegible && faint.length === 0;
        })
        """
      #expect(try await ann.value(isClear) as? Bool == true)
    }
  }
}
