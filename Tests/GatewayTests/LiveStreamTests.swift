import EmbeddedStack
import Foundation
import TestSupport
import Testing

@testable import Gateway

/// Streams of server-sent events, with the worker processes.
@Suite(.serialized) struct LiveStreamTests {
  func bearer(_ person: String) throws -> String {
    "Bearer " + (try Tokens.ours.get().token(person))
  }

  @Test("what happens to a person comes by itself, whole, to them alone, and after a tunnel")
  func live() async throws {
    let stack = try await GatewayStack(waitSeconds: 60)
    defer { stack.stop() }
    try stack.startWorkers()
    let (id, posted) = try await stack.publishPost(as: "bob")
    let after = ["Magpie-After": posted]
    let bob = try EventSource(stack, authorization: bearer("bob"))
    let eve = try EventSource(stack, authorization: bearer("eve"))
    try await eventually("both have their first states") {
      bob.events.count >= 3 && eve.events.count >= 3
    }
    #expect(bob.text.contains("text/event-stream") && bob.text.contains("retry: "))
    #expect(bob.events.prefix(3).map(\.name) == ["badge", "alarms", "conversations"])
    #expect(bob.last("alarms")?.items.isEmpty == true)
    let like = try await stack.send("PUT", "/v1/posts/\(id)/like", as: "ann", headers: after)
    #expect(like.status == 202)
    try await eventually("the like rings") {
      bob.last("alarms")?.items.first?["kind"] as? String == "F00"
        && bob.last("badge")?.json["badge"] as? Int == 1
    }
    _ = try await stack.send("POST", "/v1/conversations/bob", as: "ann", body: #"{"text":"hi"}"#)
    try await eventually("the message comes") {
      bob.last("conversations")?.items.first?["text"] as? String == "hi"
        && bob.last("alarms")?.items.count == 2 && bob.last("badge")?.json["badge"] as? Int == 2
    }
    _ = try await stack.send("PUT", "/v1/alarms/seen", as: "bob")
    try await eventually("the badge goes") { bob.last("badge")?.json["badge"] as? Int == 0 }
    #expect(eve.events.count == 3)

    // In a tunnel.
    let lastID = try #require(bob.events.last?.id)
    let alarms = bob.events.count { $0.name == "alarms" }
    bob.close()
    let unlike = try await stack.send("DELETE", "/v1/posts/\(id)/like", as: "ann", headers: after)
    let position = try #require(unlike.headers["magpie-position"])
    let screen = try await stack.send(
      "GET", "/v1/alarms", as: "bob", headers: ["Magpie-After": position])
    let back = try EventSource(stack, authorization: bearer("bob"), lastEventID: lastID)
    try await eventually("what changed meanwhile comes") { back.last("alarms") != nil }
    #expect(try back.last("alarms")?.items.count == screen.items.count && screen.items.count == 1)
    #expect(alarms > 1 && back.events.allSatisfy { $0.name != "conversations" })
    let again = try EventSource(
      stack, authorization: bearer("bob"), lastEventID: back.events.last?.id)
    let message = try await stack.send(
      "POST", "/v1/conversations/bob", as: "ann", body: #"{"text":"again"}"#)
    #expect(message.status == 202)
    try await eventually("only what is new comes") { !again.events.isEmpty }
    #expect(again.events.first?.name != "badge" || again.events.first?.json["badge"] as? Int == 1)
    stack.gateway.signal(SIGTERM)
    #expect(stack.gateway.wait(seconds: hangLimitSeconds) == .exited(0), "\(stack.log)")
    try await eventually("the streams have ended") { back.isClosed && eve.isClosed }
  }

  @Test("what a client watches comes when others change it, as that client may see it")
  func watched() async throws {
    let stack = try await GatewayStack(waitSeconds: 60)
    defer { stack.stop() }
    try stack.startWorkers()
    let (id, posted) = try await stack.publishPost(as: "bob")
    let after = ["Magpie-After": posted]
    let paths = [
      "/v1/posts/\(id)", "/v1/posts/\(id)/comments", "/v1/home?limit=1", "/v1/profiles/bob",
    ]
    let watch = paths.joined(separator: ",").replacing("?", with: "%3F")
    let ann = try EventSource(stack, authorization: bearer("ann"), watch: watch)
    func counts() -> [String: Any] { ann.watched(paths[0]) as? [String: Any] ?? [:] }
    func items(_ path: String) -> [[String: Any]] {
      (ann.watched(path) as? [String: Any])?["items"] as? [[String: Any]] ?? []
    }
    try await eventually("all first states") { paths.allSatisfy { ann.watched($0) != nil } }
    _ = try await stack.send("PUT", "/v1/posts/\(id)/like", as: "eve", headers: after)
    _ = try await stack.send(
      "POST", "/v1/posts/\(id)/comments", as: "eve", headers: after, body: #"{"text":"hi"}"#)
    _ = try await stack.send("PUT", "/v1/profiles/bob/follow", as: "eve")
    try await eventually("the counts, the comment and the follower come") {
      counts()["likes"] as? Int == 1 && counts()["comments"] as? Int == 1
        && items(paths[1]).first?["text"] as? String == "hi"
        && (ann.watched(paths[3]) as? [String: Any])?["followers"] as? Int == 1
    }
    let second = try await stack.send("POST", "/v1/posts", as: "eve", body: #"{"title":"two"}"#)
    let newest = try second.json["id"] as? String
    try await eventually("there is a new post above") {
      items(paths[2]).first?["post_id"] as? String == newest
    }
    #expect(items(paths[2]).count == 1)
    _ = try await stack.send("PUT", "/v1/profiles/ann/block", as: "bob")
    try await eventually("what she may no longer see goes") { ann.watched(paths[0]) is NSNull }
    ann.close()
    // Whoever comes back gets what is different, and the state of what was not watched before.
    let back = try EventSource(
      stack, authorization: bearer("ann"), lastEventID: ann.events.last?.id,
      watch: watch + ",/v1/profiles/eve")
    try await eventually("the new one comes") { back.watched("/v1/profiles/eve") != nil }
    #expect(back.watched(paths[2]) == nil)
    back.close()
    for wrong in [
      "/v1/nothing", "/v1/stream", "/v1/posts/a?x=1", "/", "v1/home", "/v1/posts/%25",
      "/v1/badge,/v1/home?cursor=nonsense", "/v1/home,/v1/home",
      "/v1/home?limit=200,/v1/following?limit=200,/v1/alarms?limit=200,/v1/conversations?limit=200,"
        + "/v1/conversations/bo?limit=200,/v1/badge",
    ]
      + [(0...20).map { "/v1/posts/\($0)" }.joined(separator: ",")]
    {
      let query = wrong.replacing("?", with: "%3F")
      let refused = try await stack.send("GET", "/v1/stream?watch=\(query)", as: "ann")
      #expect(refused.status == 400, "\(wrong): \(refused)")
    }
  }

  @Test("a watched screen that PostgreSQL refuses keeps no other from the stream")
  func refusedScreen() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    // A search that takes too long, and pages that fail.
    try stack.connection().script(
      """
      ALTER FUNCTION search_users(text, text, text, int) RENAME TO search_users_before;
      CREATE FUNCTION search_users(text, text, text, int) RETURNS TABLE (cursor text)
        LANGUAGE sql AS $$ SELECT pg_sleep(60)::text $$;
      ALTER FUNCTION user_posts_page(text, text, text, int) RENAME TO user_posts_page_before;
      CREATE FUNCTION user_posts_page(text, text, text, int) RETURNS TABLE (cursor text)
        LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT (1 / 0)::text; END $$;
      """)
    let paths = [
      "/v1/profiles/eve/posts", "/v1/profiles/ann/posts", "/v1/search?q=a", "/v1/home",
    ]
    let stream = try EventSource(
      stack, authorization: bearer("bob"),
      watch: paths.joined(separator: ",").replacing("?", with: "%3F"))
    try await eventually("the others come") { stream.events.count == 4 }
    #expect(
      stream.events.prefix(3).map(\.name) == ["badge", "alarms", "conversations"])
    #expect(stream.watched("/v1/home") != nil)
    #expect(stack.log.contains("a stream leaves out a watched screen"), "\(stack.log)")
    stream.close()
  }

  @Test("the watched screens of a stream together keep a connection no longer than one may")
  func slowScreens() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    // Less than a statement's 5 s, but not twice.
    try replacePosts("SELECT pg_sleep(3)::text", stack)
    let slowPaths = ["/v1/profiles/ann/posts", "/v1/profiles/eve/posts"]
    let stream = try EventSource(
      stack, authorization: bearer("bob"),
      watch: (slowPaths + ["/v1/home"]).joined(separator: ","))
    try await eventually("the others come") { stream.watched("/v1/home") != nil }
    #expect(slowPaths.count { stream.watched($0) != nil } < 2)
    #expect(stack.log.contains("a stream leaves out a watched screen"), "\(stack.log)")
    stream.close()
  }

  @Test(
    "what a stream has sent counts among what its person has not taken until the client reads it")
  func unreadEvents() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    // A screen of which a person may leave one unread, but not two.
    try replacePosts("SELECT repeat('a', 17 << 20)", stack)
    let path = "/v1/profiles/eve/posts"
    let unread = try EventSource(
      stack, authorization: bearer("ann"), watch: path, reads: false)
    try await eventually("all its events are there") {
      let metrics = LocalHTTP.get(
        "/metrics", port: stack.healthPort, timeoutSeconds: 60, bytesMax: 1 << 20)
      return metrics?.body.contains("magpie_gateway_stream_events_total 4") == true
    }
    try await eventually("the person has to take them first") {
      let answer = try await stack.send("GET", path, as: "ann")
      return answer.status == 429 && answer.problem == "rate-limited"
    }
    // On a busy machine a look may exceed its time. Then it leaves out the screen, and not the rest.
    try await eventually("another stream ends instead") {
      let other = try EventSource(stack, authorization: bearer("ann"), watch: path)
      defer { other.close() }
      try await eventually("it has looked") { other.isClosed || !other.events.isEmpty }
      return other.isClosed && other.events.isEmpty
    }
    try await eventually("somebody else reads it") {
      try await stack.send("GET", path, as: "bob").status == 200
    }
    unread.read()
    try await eventually("they are read") { unread.watched(path) != nil }
    try await eventually("there is room again") {
      try await stack.send("GET", path, as: "ann").status == 200
    }
    unread.close()
  }

  @Test("a stream rests ten times as long as a look at watched screens takes, whatever is hinted")
  func rest() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    // A look takes a tenth of a second, and finds the time of its beginning.
    try replacePosts(
      "SELECT extract(epoch FROM clock_timestamp())::text FROM pg_sleep(0.1)", stack)
    let path = "/v1/profiles/eve/posts"
    let stream = try EventSource(stack, authorization: bearer("bob"), watch: path)
    func looks() -> [Double] {
      stream.events.filter { $0.name == "watched" }.compactMap { event in
        let items = (event.json["screen"] as? [String: Any])?["items"] as? [String]
        return items?.first.flatMap(Double.init)
      }
    }
    try await eventually("it has looked four times") {
      _ = try await stack.send("PATCH", "/v1/profile", as: "eve", body: #"{"nickname":"E"}"#)
      return looks().count >= 4
    }
    let times = looks()
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 > 1 }, "\(times)")
    stream.close()
  }

  /// Makes a query the only post of everybody.
  private func replacePosts(_ query: String, _ stack: GatewayStack) throws {
    try stack.connection().script(
      """
      ALTER FUNCTION user_posts_page(text, text, text, int) RENAME TO user_posts_page_before;
      CREATE FUNCTION user_posts_page(text, text, text, int) RETURNS TABLE (cursor text)
        LANGUAGE sql AS $$ \(query) $$;
      """)
  }

  @Test("after generated actions and disconnects, what a client has is what the screens are")
  func generated() async throws {
    let stack = try await GatewayStack(waitSeconds: 60)
    defer { stack.stop() }
    try stack.startWorkers()
    var random = SeededGenerator()
    let (id, posted) = try await stack.publishPost(as: "bob")
    let after = ["Magpie-After": posted]
    var stream = try EventSource(stack, authorization: bearer("bob"))
    var view: [String: String] = [:]
    var lastID: String?
    func take(_ stream: EventSource) {
      for event in stream.events { (view[event.name], lastID) = (event.data, event.id) }
    }
    for number in 0..<60 {
      let (method, path, person, body) =
        [
          ("PUT", "/v1/posts/\(id)/like", "ann", nil),
          ("DELETE", "/v1/posts/\(id)/like", "ann", nil),
          ("PUT", "/v1/posts/\(id)/like", "cat", nil),
          ("POST", "/v1/posts/\(id)/comments", "cat", #"{"text":"\#(number)"}"#),
          ("POST", "/v1/conversations/bob", "ann", #"{"text":"\#(number)"}"#),
          ("POST", "/v1/conversations/cat", "bob", #"{"text":"\#(number)"}"#),
          ("PUT", "/v1/alarms/seen", "bob", nil), ("PUT", "/v1/alarms/read", "bob", nil),
          ("PUT", "/v1/conversations/ann/read", "bob", nil),
          ("PUT", "/v1/profiles/cat/block", "bob", nil),
          ("DELETE", "/v1/profiles/cat/block", "bob", nil),
        ].randomElement(using: &random) ?? ("PUT", "/v1/alarms/seen", "bob", nil)
      let answer = try await stack.send(method, path, as: person, headers: after, body: body)
      #expect([202, 404].contains(answer.status), "\(method) \(path): \(answer)")
      guard Int.random(in: 0..<4, using: &random) == 0 else { continue }
      take(stream)
      stream.close()
      stream = try EventSource(stack, authorization: bearer("bob"), lastEventID: lastID)
    }
    let verified = try await stack.send("PUT", "/v1/alarms/seen", as: "bob")
    let position = try #require(verified.headers["magpie-position"])
    try await eventually("the client has what the screens are") {
      take(stream)
      for name in LiveStream.screens.map(\.name) {
        let screen = try await stack.send(
          "GET", "/v1/\(name)", as: "bob", headers: ["Magpie-After": position])
        let line = screen.body.dropLast().replacing("\n", with: " ")
        guard view[name].map({ $0 == line }) ?? false else { return false }
      }
      return true
    }
    stream.close()
  }

  @Test("the example follows a person's screens")
  func example() async throws {
    let stack = try await GatewayStack(waitSeconds: 60)
    defer { stack.stop() }
    try stack.startWorkers()
    let output = stack.directory.appending(path: "example.log").path
    let example = try ChildProcess(
      builtExecutable("stream-example"),
      ["http://127.0.0.1:\(stack.port)", Tokens.ours.get().token("bob"), "/v1/conversations/ann"],
      output: .file(output))
    defer { example.terminate(within: 1) }
    var text = ""
    func has(_ part: String) -> Bool {
      text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
      return text.contains(part)
    }
    try await eventually("the first states: \(text)") { has("conversations: ") }
    _ = try await stack.send("POST", "/v1/conversations/bob", as: "ann", body: #"{"text":"hi"}"#)
    try await eventually("the message comes") {
      has("badge: {\"badge\" : 1") && has("watched: {\"path\":\"/v1/conversations/ann\"")
    }
  }

  @Test("a stream ends with its token")
  func expiry() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    let token = try Tokens.ours.get().token(
      claims: Tokens.claims("ann", replacing: ["exp": Date().timeIntervalSince1970 + 10]))
    let stream = try EventSource(stack, authorization: "Bearer \(token)")
    try await eventually("the first states are there") { stream.events.count == 3 }
    #expect(!stream.isClosed)
    let refused = try EventSource(stack, authorization: "Bearer x")
    try await eventually("a wrong token gets no stream") { refused.text.contains("401") }
    refused.close()
    // The connection stays open for further requests; the stream's last chunk ends it.
    try await eventually("the stream ends") { stream.text.hasSuffix("0\r\n\r\n") }
    let after = try await stack.send(
      "GET", "/v1/stream", authorization: "Bearer \(token)")
    #expect(after.status == 401)
    stream.close()
  }
}
