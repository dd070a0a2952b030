import TestSupport
import Testing

/// Whose feeds fanout-worker keeps: of people who were here.
@Suite struct VisitsTests {
  @Test("whoever asks was here, and an evicted feed is stored again")
  func recorded() async throws {
    let stack = try await GatewayStack(waitSeconds: 60)
    defer { stack.stop() }
    try stack.startWorkers(["fanout-worker", "notification-worker"])
    let post = try await stack.send("POST", "/v1/posts", as: "ann", body: #"{"title":"one"}"#)
    let follow = try await stack.send("PUT", "/v1/profiles/ann/follow", as: "bob")
    let after = [post, follow].compactMap { $0.headers["magpie-position"] }.joined(separator: ",")
    let behind = ["Magpie-After": after]
    #expect(try await stack.send("GET", "/v1/home", as: "bob", headers: behind).status == 200)
    let connection = try stack.connection()
    // As fanout-worker evicts it.
    try connection.script(
      """
      INSERT INTO feeds (owner, floor)
      SELECT user_key, 9223372036854775807 FROM users WHERE user_id = 'bob'
      ON CONFLICT (owner) DO UPDATE SET floor = EXCLUDED.floor;
      DELETE FROM feed_visits;
      """)
    // Has not noted anybody yet.
    let other = try await stack.startGateway()
    #expect(try await other.answer("GET", "/v1/home", as: "bob")?.status == 200)
    try await eventually("the visit is recorded") {
      !(try connection.query("SELECT FROM feed_visits WHERE user_id = 'bob'").isEmpty)
    }
    try await eventually("the feed is stored again, or is to be") {
      !(try connection.query(
        """
        SELECT FROM users u WHERE u.user_id = 'bob' AND (
          EXISTS (SELECT FROM feed_returns r WHERE r.owner = u.user_key)
          OR EXISTS (
            SELECT FROM feeds f WHERE f.owner = u.user_key AND f.floor < 9223372036854775807))
        """
      ).isEmpty)
    }
  }

  @Test("a server that cannot record visits serves screens")
  func readOnly() async throws {
    let stack = try await GatewayStack(
      arguments: ["--visits-database-url", "host=127.0.0.1 port=1 dbname=none"])
    defer { stack.stop() }
    #expect(try await stack.send("GET", "/v1/home", as: "bob").status == 200)
    try await eventually("the log says so") { stack.log.contains("visits are not recorded") }
    #expect(try await stack.send("GET", "/v1/home", as: "bob").status == 200)
    #expect(stack.log.contains("--visits-database-url"))
  }
}
