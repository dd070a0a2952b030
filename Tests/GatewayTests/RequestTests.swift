import Events
import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Gateway

@Suite struct RequestTests {
  @Test("targets are decoded strictly")
  func targets() throws {
    let target = try RequestTarget("/v1/posts/a%2Fb%20c/comments?limit=5&cursor=x%3Ay+z")
    #expect(target.segments == ["v1", "posts", "a/b c", "comments"])
    #expect(target.query == ["limit": "5", "cursor": "x:y z"])
    #expect(try RequestTarget("HTTPS://x:443/v1?a=/").segments == ["v1"])
    for bad in [
      "", "v1", "http://x", "http:///v1", "http://x?a=/v1", "ftp://x/v1", "*", "/%", "/%2", "/%zz",
      "/%00", "/%ff", "/a?b=%ff", "/a?b=1&b=2",
      "/" + String(repeating: "a", count: 5000),
    ] {
      #expect(throws: Problem.self, "\(bad)") { try RequestTarget(bad) }
    }
  }

  @Test("positions are written and read in one form")
  func positions() throws {
    let position = Position(topic: .alarmActions, partition: 3, offset: 17)
    #expect(position.description == "alarm-actions/3@17")
    #expect(Position(position.description) == position)
    #expect(try Position.all(in: "likes/0@1, follows/2@3").count == 2)
    for bad in [
      "", " ", "likes", "likes/3", "likes@3", "likes/-1@3", "likes/1@-3", "likes/+1@3",
      "nothing/1@3",
      "notification-changes/0@1", "likes/1@99999999999999999999", "likes/99999999999@1", "likes/1@",
      String(repeating: "likes/0@1,", count: 9), "likes/0@1,,", "likes/0@1 junk", "likes/0@1 2",
    ] {
      #expect(throws: Problem.self, "\(bad)") { try Position.all(in: bad) }
    }
  }

  @Test("a position is waited for in the groups that consume it and that the screen shows")
  func barriers() {
    let like = Position(topic: .likes, partition: 1, offset: 2)
    let profile = Position(topic: .profiles, partition: 1, offset: 2)
    func groups(_ position: Position, _ screen: String) -> Set<ConsumerGroup> {
      guard let screen = Screen.all.first(where: { $0.path == screen }) else { return [] }
      return Set(Barrier([position], groups: screen.groups).bounds.map(\.group))
    }
    #expect(groups(like, "/v1/home") == [.notification])
    #expect(groups(like, "/v1/reminders") == [])
    #expect(groups(profile, "/v1/home") == [.alarm])
    #expect(groups(profile, "/v1/settings") == [.alarm, .reminder])
    // Whoever consumes what an app publishes is waited for by some screen.
    for topic in Topic.allCases where !topic.isInternal {
      let shown = Screen.all.reduce(into: Set<ConsumerGroup>()) { shown, screen in
        shown.formUnion(
          Barrier([Position(topic: topic, partition: 0, offset: 0)], groups: screen.groups)
            .bounds.map(\.group))
      }
      #expect(shown == Set(ConsumerGroup.reading(topic, includingOptional: false)), "\(topic)")
    }
  }

  func event(_ path: String, _ method: HTTPRequest.Method, _ body: String) throws(Problem) -> Event
  {
    guard let action = Action.all.first(where: { $0.path == path && $0.method == method }) else {
      throw Problem(.notFound, "no such action")
    }
    return try action.event(
      person: "ann", path: ["post": "p", "comment": "c", "user": "bob", "reminder": "r"],
      body: Array(body.utf8), author: "bob", eventID: "e", time: .now, source: "test"
    ).event
  }

  @Test("a body says nothing but what its action lets it say")
  func bodies() throws {
    let path = "/v1/posts/{post}/comments/{comment}"
    guard
      case .commentCreated(let data) = try event(path, .put, #"{"text":"a\"b 👋 \ud83d\udc4b"}"#)
        .payload
    else { return #expect(Bool(false)) }
    #expect(data.actor == "ann" && data.postOwner == "bob" && data.text == "a\"b 👋 👋")
    for (body, code, field) in [
      (#"{"actor":"eve"}"#, Problem.Code.unknownMember, "actor"),
      (#"{"text":"a","postOwner":"eve"}"#, .unknownMember, "postOwner"),
      (#"{"text":"a","post_owner":"eve"}"#, .unknownMember, "post_owner"),
      (#"{"text":"a","\u0061ctor":"eve"}"#, .unknownMember, "actor"),
      (#"{"text":[}}"#, .invalidMember, "text"), (#"{"text":1}"#, .invalidMember, "text"),
      (#"{"mentions":{"a":"b"}}"#, .invalidMember, "mentions"),
      (#"{"text":"\#(String(repeating: "a", count: 17_000))"}"#, .invalidMember, "text"),
      (#"{"text":"a\u0000"}"#, .invalidMember, "text"),
      (#"{"text":"a","text":"b"}"#, .invalidBody, nil), (#"{"text":"a"}}"#, .invalidBody, nil),
      (#"{"text":"a"},"actor":"eve"#, .invalidBody, nil), (#"["text"]"#, .invalidBody, nil),
      (#"{"text":"a""#, .invalidBody, nil), ("null", .invalidBody, nil), ("{", .invalidBody, nil),
      (#"{"text":"a},"actor":"eve"}"#, .invalidBody, nil),
    ] as [(String, Problem.Code, String?)] {
      do {
        let event = try event(path, .put, body)
        Issue.record("\(body.prefix(60)) became \(event)")
      } catch {
        #expect(error.code == code && error.field == field, "\(body.prefix(60)): \(error)")
      }
    }
  }

  @Test("somebody who has left can be read, and nothing else")
  func formerPeople() throws {
    let former = "erased:" + String(repeating: "0", count: 64)
    for action in Action.all where action.path.contains("{user}") {
      let body = ActionTests.body(action) ?? ""
      do throws(Problem) {
        let event = try action.event(
          person: "ann", path: ["user": former], body: Array(body.utf8), author: "", eventID: "e",
          time: .now, source: "test"
        ).event
        #expect(event.type == .conversationRead)
      } catch {
        #expect(action.type != .conversationRead && error.code == .notFound, "\(action.path)")
        #expect(error.field == "user")
      }
    }
    let chat = try #require(Screen.all.first { $0.path == "/v1/conversations/{user}" })
    let statement = try chat.statement(viewer: "ann", path: ["user": former], query: [:])
    #expect(statement.parameters.count == 4)
  }

  @Test("no body of generated members makes a person act as another one")
  func generatedBodies() throws {
    var random = SeededGenerator()
    let pieces = [
      "{", "}", "[", "]", ",", ":", "\"", "\\", "\"text\"", "\"actor\"", "\"eve\"", "\"user\"", "1",
      "null",
      "\"person\"", " ", "\\u0022", "\"author\":\"eve\"", "{\"text\":\"a\"", "true",
    ]
    for action in Action.all {
      for _ in 0..<300 {
        let body =
          "{"
          + (0..<Int.random(in: 0..<9, using: &random)).map { _ in
            pieces.randomElement(using: &random) ?? ""
          }.joined() + "}"
        guard let event = try? event(action.path, action.method, body) else { continue }
        let text = (try? StructuredEvent.encode(event)) ?? ""
        #expect(text.contains("\"ann\""), "\(action.path) \(body): \(text)")
        for name in ["actor", "author", "user", "person", "follower", "sender", "subscriber"] {
          #expect(!text.contains("\"\(name)\":\"eve\"") || name == "person", "\(body): \(text)")
        }
      }
    }
  }

  @Test("an event of which a worker would make a dead letter is refused, and names why")
  func acceptance() throws {
    let acceptance = Acceptance()
    for (path, body, field) in [
      ("/v1/reminders/{reminder}", #"{"title":"a","at":"2040-01-01T07:00"}"#, nil),
      (
        "/v1/reminders/{reminder}",
        #"{"title":"a","at":"2040-01-01T07:00","zone":"Asia/Seoul","repeat":"FREQ=DAILY"}"#, nil
      ),
      (
        "/v1/reminders/{reminder}", #"{"title":"a","at":"2040-01-01T07:00","zone":"Nowhere"}"#,
        "zone"
      ),
      (
        "/v1/reminders/{reminder}", #"{"title":"a","at":"2040-01-01T07:00","repeat":"FREQ=EON"}"#,
        "repeat"
      ),
      (
        "/v1/reminders/{reminder}", #"{"title":"a","at":"2040-01-01T07:00","kind":"nothing"}"#,
        "kind"
      ),
      ("/v1/reminders/{reminder}", #"{"title":"a","at":"2040-01-01T07:00","kind":"like"}"#, "kind"),
      ("/v1/digest", #"{"at":"07:00","kinds":["like"]}"#, nil),
      ("/v1/digest", #"{"at":"07:00","kinds":["nothing"]}"#, "kinds"),
      ("/v1/digest", #"{"at":"07:00","zone":"Etc/Nowhere"}"#, "zone"),
    ] as [(String, String, String?)] {
      let event = try event(path, .put, body)
      do {
        try acceptance.check(event)
        #expect(field == nil, "\(body)")
      } catch {
        #expect(error.code == .invalidMember && error.field == field, "\(body): \(error)")
      }
    }
    let kind = try event("/v1/settings/disabled", .post, #"{"scope":"kind","kind":"nothing"}"#)
    #expect(throws: Problem.self) { try acceptance.check(kind) }
    let zone = try event("/v1/profile", .patch, #"{"zone":"Mars/Olympus"}"#)
    #expect(throws: Problem.self) { try acceptance.check(zone) }
  }

  @Test("a directory of catalogs that cannot be read is refused, and one without kinds is not")
  func catalogDirectory() throws {
    for path in ["/nonexistent", #filePath] {
      #expect {
        try Acceptance(catalogDirectory: path, zoneinfoDirectory: nil)
      } throws: { error in
        "\(error)" == "\(path): cannot be read; is it a directory, and readable?"
      }
    }
    let directory = URL(filePath: #filePath).deletingLastPathComponent().path
    _ = try Acceptance(catalogDirectory: directory, zoneinfoDirectory: nil)
  }

  @Test("ids are a person's own: the same for the same key, and never another person's")
  func ownIDs() {
    let id = OwnID.event("ann", "like", target: ["p"], key: "k")
    #expect(id == OwnID.event("ann", "like", target: ["p"], key: "k"))
    #expect(id.utf8.count <= Limits.idBytes)
    let others = [
      OwnID.event("ann", "like", target: ["p"], key: "j"),
      OwnID.event("an", "nlike", target: ["p"], key: "k"),
      OwnID.event("bob", "like", target: ["p"], key: "k"),
      OwnID.event("ann", "post", target: ["p"], key: "k"),
      OwnID.event("ann", "like", target: ["q"], key: "k"),
      OwnID.event("ann", "like", target: [], key: "k"),
      OwnID.event("ann", "like", target: ["p"], key: nil),
      OwnID.event("ann", "like", target: ["p"], key: nil),
    ]
    #expect(Set(others + [id]).count == others.count + 1)
    let new = OwnID.new("ann", event: id)
    #expect(OwnID.isOwn(new, of: "ann") && !OwnID.isOwn(new, of: "bob"))
    #expect(new.utf8.count <= Limits.idBytes && isIdentifier(new))
  }

  @Test("people whose ids look alike are different if the bytes are")
  func alikeIDs() throws {
    let alike = ["\u{E9}", "e\u{301}"]
    let paths = alike.map { "/v1/profiles/\($0)" }.joined(separator: ",")
    #expect(try Watched.all(in: paths, viewer: "ann").count == 2)
    var queue = FairQueue<Int>(runningMax: 1)
    for (index, person) in alike.enumerated() { queue.append(index, of: person) }
    let started = [queue.start()?.element, queue.start()?.element]
    #expect(started == [0, 1])
  }

  @Test("a person's time is at most now, a little later for what was shown, and at most a week ago")
  func times() throws {
    let now = EventTime.now
    func time(_ text: String?, marksShown: Bool = false) throws(Problem) -> EventTime {
      var headers = HTTPFields()
      headers[.magpieTime] = text
      return try eventTime(headers, marksShown: marksShown, now: now)
    }
    let past = EventTime(microseconds: now.microseconds - 1_000_001)
    #expect(try time(nil) == now && time(past.rfc3339) == past)
    #expect(try time(EventTime(microseconds: now.microseconds + 9_000_000).rfc3339) == now)
    let ahead = EventTime(microseconds: now.microseconds + 4_999_999)
    #expect(try time(ahead.rfc3339, marksShown: true) == ahead && time(ahead.rfc3339) == now)
    let wrong = EventTime(microseconds: now.microseconds + 5_000_001)
    #expect(try time(wrong.rfc3339, marksShown: true) == now)
    #expect(throws: Problem.self) { try time("yesterday") }
    #expect(throws: Problem.self) { try time("2020-01-01T00:00:00Z") }
  }
}
