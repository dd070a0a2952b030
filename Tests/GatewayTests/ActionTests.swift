import Events
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Gateway

/// What actions publish, through a gateway process and the broker.
@Suite(.serialized) struct ActionTests {
  /// A body with which the action's event is valid.
  static func body(_ action: Action) -> String? {
    switch action.type {
    case .profileEdited: #"{"nickname":"Ann","image_url":"https://a.example/1"}"#
    case .alarmDisabled, .alarmEnabled: #"{"scope":"actor","actor":"eve"}"#
    case .reminderSet: #"{"title":"Walk","at":"2026-11-23T07:00","zone":"Asia/Seoul"}"#
    case .reminderCycleSet:
      #"{"items":[{"item":"a","title":"A"}],"from":"09:00","to":"18:00","times":4}"#
    case .digestSet where !action.body.isEmpty: #"{"at":"08:30","days":["mo"],"holds":true}"#
    case .commentCreated, .messageSent: #"{"text":"hello"}"#
    default: nil
    }
  }

  /// The person who acts in an event.
  static func actor(_ payload: Payload) -> String? {
    switch payload {
    case .postPublished(let data): data.author
    case .postDeleted(let data): data.author
    case .followCreated(let data): data.follower
    case .followRemoved(let data): data.follower
    case .likeCreated(let data): data.actor
    case .likeRemoved(let data): data.actor
    case .commentCreated(let data): data.actor
    case .commentRemoved(let data): data.actor
    case .messageSent(let data): data.sender
    case .authorSubscribed(let data): data.subscriber
    case .authorUnsubscribed(let data): data.subscriber
    // The others concern the person alone, who is their key.
    default: payload.key
    }
  }

  @Test("each action is one event, by the person of the token, at the position of the answer")
  func everyAction() async throws {
    let stack = try await GatewayStack(waitSeconds: 60)
    defer { stack.stop() }
    try stack.startWorkers(["fanout-worker", "notification-worker"])
    let post = try await stack.send("POST", "/v1/posts", as: "ann", body: #"{"title":"one"}"#)
    let id = try #require(try post.json["id"] as? String)
    let after = ["Magpie-After": try #require(post.headers["magpie-position"])]
    let own = OwnID.new("bob", event: "e")
    for (method, path, problem) in [
      ("PUT", "/v1/posts/\(id)", "not-yours"), ("DELETE", "/v1/posts/\(id)", "not-yours"),
      ("PUT", "/v1/posts/\(id)/comments/\(OwnID.new("ann", event: "e"))", "not-yours"),
      ("DELETE", "/v1/posts/\(id)/comments/\(OwnID.new("ann", event: "e"))", "not-yours"),
      ("DELETE", "/v1/posts/\(id)/comments/other", "not-yours"),
      ("PUT", "/v1/posts/unknown/like", "not-found"),
      ("DELETE", "/v1/posts/unknown/comments/\(own)", "not-found"),
    ] {
      let answer = try await stack.send(method, path, as: "bob", headers: after)
      #expect(answer.problem == problem, "\(method) \(path): \(answer)")
    }
    // Without its post, the others are refused.
    let last: [EventType] = [.postDeleted, .userErased]
    let actions =
      Action.all.filter { !last.contains($0.type) }
      + last.flatMap { type in Action.all.filter { $0.type == type } }
    for action in actions {
      var path = action.path.replacing("{post}", with: id)
      path = path.replacing("{comment}", with: OwnID.new("ann", event: "e"))
      path = ScreenTests.path(PathTemplate(path))
      let answer = try await stack.send(
        action.method.rawValue, path, as: "ann", headers: after, body: Self.body(action))
      #expect(answer.status == 202, "\(action.method) \(path): \(answer)")
      let event = try stack.event(at: #require(answer.headers["magpie-position"]))
      #expect(event.type == action.type && Self.actor(event.payload) == "ann", "\(event)")
      #expect(event.source == "magpie-gateway")
    }
  }

  @Test("who has as many reminders to come as anybody may have can change them, but adds none")
  func reminderQuota() async throws {
    let stack = try await GatewayStack(waitSeconds: 1)
    defer { stack.stop() }
    try stack.connection().script(
      """
      INSERT INTO reminders (
        user_id, reminder_id, version_time, version_id, definition, partition, decided_through,
        next_at, zone, due_at)
      SELECT p.user_id, 'r' || n, now(), 'v', '{"form":"reminder"}', 0, now(),
        '2040-01-01 07:00', 'UTC', '2040-01-01 07:00Z'
      FROM (VALUES ('ann', 1000), ('bob', 999)) AS p (user_id, number)
      CROSS JOIN LATERAL generate_series(1, p.number) AS n
      """)
    func set(
      _ type: EventType, _ id: String, as person: String, after position: String? = nil
    ) async throws -> Answer {
      let action = try #require(Action.all.first { $0.type == type })
      let path = action.path.replacing("{reminder}", with: id).replacing("{cycle}", with: id)
      return try await stack.send(
        "PUT", path, as: person, headers: position.map { ["Magpie-After": $0] } ?? [:],
        body: Self.body(action))
    }
    for type in [EventType.reminderSet, .reminderCycleSet] {
      let answer = try await set(type, "new", as: "ann")
      #expect(answer.status == 409 && answer.problem == "quota-reached", "\(answer)")
      #expect(try await set(type, "r7", as: "ann").status == 202)
      #expect(try await set(type, "new", as: "bob").status == 202)
    }
    // Never reached.
    let far = try await set(.reminderSet, "new", as: "ann", after: "reminders/0@9999999999999")
    #expect(far.status == 409, "\(far)")
  }

  @Test("people can take back what they left on a post that they no longer see, and nothing else")
  func invisiblePosts() async throws {
    let stack = try await GatewayStack(waitSeconds: 60)
    defer { stack.stop() }
    try stack.startWorkers(["fanout-worker", "notification-worker", "alarm-worker"])
    let (id, posted) = try await stack.publishPost(as: "bob")
    var last = posted
    func act(_ method: String, _ path: String, as person: String) async throws -> Answer {
      let answer = try await stack.send(
        method, path, as: person, headers: ["Magpie-After": last],
        body: method == "POST" ? #"{"text":"hi"}"# : nil)
      last = answer.headers["magpie-position"] ?? last
      return answer
    }
    let path = "/v1/posts/\(id)"
    var comments: [String] = []
    for person in ["ann", "eve"] {
      #expect(try await act("PUT", path + "/like", as: person).status == 202)
      let comment = try await act("POST", path + "/comments", as: person)
      comments.append("\(path)/comments/\(try #require(try comment.json["id"] as? String))")
    }
    func isInvisible(to person: String) async throws {
      for screen in [path, path + "/comments", path + "/likers"] {
        #expect(try await act("GET", screen, as: person).status == 404, "\(screen)")
      }
    }
    #expect(try await act("PUT", "/v1/profiles/ann/block", as: "bob").status == 202)
    try await isInvisible(to: "ann")
    #expect(try await act("PUT", path + "/like", as: "ann").problem == "not-found")
    #expect(try await act("PUT", comments[0], as: "ann").problem == "not-found")
    for own in [path + "/like", comments[0]] {
      let answer = try await act("DELETE", own, as: "ann")
      #expect(answer.status == 202, "\(answer)")
      let event = try stack.event(at: #require(answer.headers["magpie-position"]))
      #expect(event.key == "bob" && Self.actor(event.payload) == "ann")
    }
    let left = try await act("GET", path + "/comments", as: "bob").items
    #expect(left.compactMap { $0["actor_id"] as? String } == ["eve"])
    #expect(try await act("GET", path + "/likers", as: "bob").items.count == 1)
    #expect(try await act("DELETE", path, as: "bob").status == 202)
    try await isInvisible(to: "eve")
    // Repeated, because the answer was lost.
    #expect(try await act("DELETE", path, as: "bob").status == 202)
    #expect(try await act("PUT", path, as: "bob").problem == "not-found")
    #expect(try await act("DELETE", path, as: "eve").problem == "not-found")
    for own in [path + "/like", comments[1]] {
      #expect(try await act("DELETE", own, as: "eve").status == 202)
      #expect(try await act("DELETE", own, as: "dan").status >= 400)
    }
  }

  @Test("only a fresh token erases its person, also if it was accepted for something else")
  func freshToken() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    let tokens = try Tokens.ours.get()
    let now = Date().timeIntervalSince1970.rounded()
    for (issued, status) in [
      (nil, 401), (now - 310, 401), (now + 3600, 401), (now - 280, 202), (now, 202),
    ] as [(Double?, Int)] {
      let claims = Tokens.claims("ann", replacing: ["iat": issued ?? NSNull()])
      let authorization = "Bearer \(try tokens.token(claims: claims))"
      for path in ["/v1/badge", "/v1/me"] {
        let answer = try await stack.send(
          path == "/v1/me" ? "DELETE" : "GET", path, authorization: authorization)
        guard path == "/v1/me" else {
          #expect(answer.status == 200, "\(answer)")
          continue
        }
        #expect(answer.status == status, "\(answer)")
        if status == 202 {
          let event = try stack.event(at: #require(answer.headers["magpie-position"]))
          #expect(event.type == .userErased && event.key == "ann")
        } else {
          #expect(answer.problem == "token-not-fresh")
          #expect(answer.headers["www-authenticate"]?.contains(#"max_age="300""#) == true)
        }
      }
    }
  }

  @Test("a repeated action with the same key and time is the same event, and no other's is")
  func idempotency() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    func post(_ person: String, _ headers: [String: String]) async throws -> Event {
      let answer = try await stack.send(
        "POST", "/v1/posts", as: person, headers: headers, body: #"{"title":"one"}"#)
      return try stack.event(at: #require(answer.headers["magpie-position"], "\(answer)"))
    }
    let time = EventTime(microseconds: EventTime.now.microseconds - 5_000_000)
    let headers = [
      "Idempotency-Key": "8e03978e-40d5-43dd-bc93-6894a57f9324", "Magpie-Time": time.rfc3339,
      "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ]
    let first = try await post("ann", headers)
    #expect(first.time == time && first.trace?.traceID == "0af7651916cd43dd8448eb211c80319c")
    #expect(try await post("ann", headers) == first)
    let other = try await post("bob", headers)
    #expect(other.id != first.id)
    guard case .postPublished(let mine) = first.payload,
      case .postPublished(let theirs) = other.payload
    else { return #expect(Bool(false)) }
    #expect(mine.post != theirs.post)
    #expect(try await post("ann", [:]).id != post("ann", [:]).id)
    for (name, value) in [
      ("Idempotency-Key", "two words"), ("Idempotency-Key", String(repeating: "k", count: 129)),
      ("Magpie-Time", "now"), ("Magpie-Time", "2001-01-01T00:00:00Z"),
    ] {
      let answer = try await stack.send("PUT", "/v1/alarms/seen", as: "ann", headers: [name: value])
      #expect(answer.status == 400 && answer.problem == "invalid-header", "\(answer)")
    }
  }

  @Test("bodies are bounded, and only JSON")
  func bodyLimits() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    let large = String(repeating: "a", count: GatewayLimits.bodyBytes)
    let answer = try await stack.send(
      "POST", "/v1/posts", as: "ann", body: #"{"caption":"\#(large)"}"#)
    #expect(answer.status == 413 && answer.problem == "body-too-large", "\(answer.status)")
    let token = try Tokens.ours.get().token("ann")
    let head = "POST /v1/posts HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer \(token)\r\n"
    // In chunks, of which none says how many follow.
    let chunk = "10000\r\n" + String(repeating: "a", count: 65_536) + "\r\n"
    let chunked = head + "Transfer-Encoding: chunked\r\n\r\n" + String(repeating: chunk, count: 160)
    let endless = try await exchange(Array(chunked.utf8), port: stack.port)
    #expect(endless == nil || endless?.status == 413)
    for type in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""] {
      let answer = try await stack.send(
        "POST", "/v1/posts", as: "ann", headers: ["Content-Type": type], body: "{}")
      #expect(answer.status == 415, "\(type): \(answer)")
    }
    let exact = try await stack.send(
      "POST", "/v1/posts", as: "ann", headers: ["Content-Type": "application/json; charset=utf-8"],
      body: "{}" + String(repeating: " ", count: GatewayLimits.bodyBytes - 2))
    #expect(exact.status == 202, "\(exact)")
    #expect(stack.gateway.isRunning)
  }

  @Test("no generated request gets an answer of the 500s, or ends the gateway")
  func malformedRequests() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    var random = SeededGenerator()
    let token = try Tokens.ours.get().token("ann")
    for _ in 0..<1_500 {
      let request = Self.request(token, &random)
      let answer = try await exchange(request, port: stack.port)
      #expect(
        (answer?.status ?? 400) < 500, "\(String(decoding: request, as: UTF8.self)): \(answer!)")
      #expect(stack.gateway.isRunning)
    }
    let after = try await stack.send("GET", "/v1/home", as: "ann")
    #expect(after.status == 200)
  }

  private static func request(_ token: String, _ random: inout SeededGenerator) -> [UInt8] {
    func any(_ choices: [String]) -> String { choices.randomElement(using: &random) ?? "" }
    // A stream does not end by itself.
    let routes = Route.all.filter { if case .stream = $0.endpoint { false } else { true } }
    let route = routes.randomElement(using: &random)
    var path = route.map { ScreenTests.path($0.path) } ?? "/"
    switch Int.random(in: 0..<8, using: &random) {
    case 0:
      path += any(["/", "//", "/..", "?", "?limit=-1", "?cursor=%00", "#a", "%", "%C3", "?a=b=c&"])
    case 1:
      path = any(["*", "", "//", "http://x", "http://x:y/v1/home", "/v1/home HTTP/1.1", "?", "/?"])
    case 2:
      path += "?cursor=" + any(["1:2", "-1:", "9999999999999999999:a", "NaN:x", "a", ":", "%22"])
    default: break
    }
    let method = any([
      route?.method.rawValue ?? "GET", "GET", "POST", "PUT", "BREW", "HEAD", "OPTIONS", "",
    ])
    var text =
      "\(method) \(path) \(any(["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/9", ""]))\r\n"
    text += "Host: t\r\nConnection: close\r\n"
    if Int.random(in: 0..<5, using: &random) > 0 { text += "Authorization: Bearer \(token)\r\n" }
    for _ in 0..<Int.random(in: 0..<4, using: &random) {
      text +=
        any([
          "Magpie-After: likes/0@", "Magpie-After: ,,", "Magpie-Time: 9999-99-99T99:99:99Z",
          "Idempotency-Key: \u{1}", "If-None-Match: \"", "Content-Length: -1", "Content-Length: 5",
          "Transfer-Encoding: chunked", "Transfer-Encoding: gzip", "traceparent: 00-0-0-0",
          "Content-Type: application/json", "Expect: 100-continue", "Upgrade: websocket", ": x",
          "x",
          "Authorization: Bearer x", "A: \(String(repeating: "b", count: 20_000))",
        ]) + "\r\n"
    }
    let body = any([
      "", "{}", "{", "null", #"{"text":"a"}"#, #"{"title":{"a":[]}}"#,
      #"{"at":"2026-13-99T25:61"}"#,
      #"{"text":"\ud800"}"#, String(repeating: "[", count: 3_000), #"{"times":1e999}"#,
      #"{"items":[{"item":"a"}]}"#, "5\r\n{\"a\":\r\n0\r\n\r\n",
    ])
    if Int.random(in: 0..<2, using: &random) == 0 {
      text += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
    }
    var bytes = Array((text + "\r\n" + body).utf8)
    if Int.random(in: 0..<4, using: &random) == 0 {
      for _ in 0..<Int.random(in: 1..<6, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(
          in: 0...255, using: &random)
      }
    }
    return bytes
  }
}
