import TestSupport
import Testing

/// Pages that are left, and what is found when one comes back.
extension BrowserStatesTests {
  /// Until the answers of all actions have come.
  private func answered(_ ann: Browser) async throws {
    try await eventually("all is answered") {
      try await ann.value("sessionStorage.getItem('magpie.outbox')") as? String == "[]"
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
      try await eventually("there is a field for a token, and nothing else is left") {
        try await ann.value(
          "document.querySelector('[name=token]') !== null && sessionStorage.length === 0")
          as? Bool == true
      }
    }
  }
}
