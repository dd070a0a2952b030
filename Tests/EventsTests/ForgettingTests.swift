import Events
import Foundation
import Testing

@Suite struct ForgettingTests {
  /// The fields that hold people's ids.
  private static let people: Set = [
    "actor", "author", "followee", "follower", "mentions", "peer", "person", "postOwner",
    "receiver", "recipient", "sender", "subscriber", "user",
  ]
  /// The other fields of events that producers publish.
  private static let others: Set = [
    "app", "arguments", "at", "bio", "caption", "causedAt", "comment", "cycle", "days", "from",
    "headText",
    "holds", "imageUrl", "installation", "instant", "items", "kind", "kinds", "link", "locale",
    "major", "memo", "message", "name", "nickname", "notification", "period", "post", "provider",
    "quietFrom", "quietUntil", "reminder", "repeat", "scope", "silentKinds", "source", "subject",
    "symbol", "text", "times", "title", "to", "token", "type", "until", "zone",
  ]

  private func bytes(_ ids: [String]) -> Set<BytewiseString> { Set(ids.map { BytewiseString($0) }) }

  @Test("an event names the people of all of its fields", arguments: EventType.allCases)
  func fields(type: EventType) throws {
    var samples = Samples(seed: 20)
    for round in 0..<80 {
      let event = samples.event(type)
      let line = try StructuredEvent.encode(event)
      // Foundation's JSON parser drops a byte order mark at the beginning of a string.
      guard !line.unicodeScalars.contains("\u{FEFF}") else { continue }
      let whole = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      let data = try #require(whole?["data"] as? [String: Any])
      var expected: [String] = []
      for (field, value) in data where !type.topic.isInternal {
        #expect(Self.people.contains(field) != Self.others.contains(field), "\(type).\(field)")
        guard Self.people.contains(field) else { continue }
        let list = (value as? String).map { [$0] } ?? value as? [String]
        expected += try #require(list, "\(type).\(field)")
      }
      switch event.payload {
      // What workers publish: a later version replaces what it says of others.
      case .notificationChanged, .notificationRetracted, .alarmChanged, .alarmRetracted:
        expected = [event.key]
      case .userErased: expected = []
      case .alarmRaised(let data): expected.append(data.source)
      case .alarmWithdrawn(let data): expected.append(data.source)
      case .alarmDisabled(let data) where isAboutMessages(data.scope, data.kind):
        expected.append(data.subject)
      case .alarmEnabled(let data) where isAboutMessages(data.scope, data.kind):
        expected.append(data.subject)
      default: break
      }
      #expect(
        bytes(event.people) == bytes(expected.filter { !$0.isEmpty }), "\(type), round \(round)")
    }
  }

  private func isAboutMessages(_ scope: String, _ kind: String) -> Bool {
    scope == "subject" && ["message", "F03"].contains(kind)
  }

  @Test("nothing of an erased person is left of an event", arguments: EventType.allCases)
  func forgetting(type: EventType) {
    var samples = Samples(seed: 21)
    for round in 0..<80 {
      let event = samples.event(type)
      #expect(event.forgetting { _ in false } == event)
      for person in event.people {
        let left = event.forgetting { BytewiseString($0) == BytewiseString(person) }
        #expect(
          left.map { !bytes($0.people).contains(BytewiseString(person)) } ?? true,
          "\(type), round \(round)")
        if let left {
          #expect(
            [.postPublished, .commentCreated, .alarmDisabled, .alarmEnabled].contains(type))
          #expect(left.version == event.version && left.key == event.key)
        }
      }
      if event.people.isEmpty { #expect(event.forgetting { _ in true } == event) }
    }
    #expect(samples.event(.userErased).forgetting { _ in true } != nil)
  }

  private func event(_ payload: Payload) -> Event {
    Event(id: "e", source: "s", time: now, payload: payload)
  }

  @Test("a post and a comment lose the mentions of erased people, and stay")
  func mentions() {
    let post = event(.postPublished(.with { ($0.author, $0.mentions) = ("a", ["b", "c", "d"]) }))
    let comment = event(
      .commentCreated(
        .with { ($0.actor, $0.postOwner, $0.mentions) = ("a", "o", ["b", "c"]) }))
    guard case .postPublished(let left)? = post.forgetting({ $0 == "c" })?.payload,
      case .commentCreated(let said)? = comment.forgetting({ $0 == "c" })?.payload
    else { return #expect(Bool(false)) }
    #expect(left.mentions == ["b", "d"] && said.mentions == ["b"])
    #expect(post.forgetting { $0 == "a" } == nil)
    #expect(comment.forgetting { $0 == "a" } == nil && comment.forgetting { $0 == "o" } == nil)
  }

  @Test("a message to an erased person stays its sender's, if the handler keeps it")
  func messages() {
    let message = event(
      .messageSent(
        .with { ($0.message, $0.sender, $0.receiver, $0.text) = ("m", "a", "b", "hi") }))
    let former = FormerPerson.id(hash: "0f")
    func left(_ erased: Set<String>) -> Event? {
      message.forgetting(formerReceiver: { _ in former }, erased.contains)
    }
    guard case .messageSent(let data)? = left(["b"])?.payload else { return #expect(Bool(false)) }
    #expect(data.receiver == former && data.sender == "a" && data.text == "hi")
    #expect(left(["a"]) == nil && left(["a", "b"]) == nil)
    #expect(message.forgetting { $0 == "b" } == nil)
    let own = event(.messageSent(.with { ($0.message, $0.sender, $0.receiver) = ("m", "a", "a") }))
    #expect(own.forgetting(formerReceiver: { _ in former }, { $0 == "a" }) == nil)
  }

  @Test("no event may name a former person, except who has read what they wrote")
  func formerPeople() throws {
    let former = FormerPerson.id(hash: String(repeating: "0f", count: 32))
    #expect(FormerPerson.has(id: former) && !FormerPerson.has(id: "erased"))
    func code(_ payload: Payload) -> EventError.Code? {
      do throws(EventError) {
        let event = event(payload)
        let record = try EventCodec.encode(event)
        _ = try EventCodec.decode(record, topic: event.topic, now: now)
        return nil
      } catch {
        return error.code
      }
    }
    func read(_ user: String, _ peer: String) -> Payload {
      .conversationRead(.with { ($0.user, $0.peer) = (user, peer) })
    }
    #expect(code(read("a", former)) == nil && code(read(former, "a")) == .badID)
    #expect(code(read("a", FormerPerson.prefix)) == .missingField)
    for payload in [
      .userErased(.with { $0.user = former }),
      .messageSent(.with { ($0.message, $0.sender, $0.receiver) = ("m", "a", former) }),
      .followCreated(.with { ($0.follower, $0.followee) = ("a", former) }),
      .postPublished(.with { ($0.post, $0.author, $0.mentions) = ("p", "a", [former]) }),
      .alarmDisabled(.with { ($0.user, $0.scope, $0.actor) = ("a", "actor", former) }),
    ] as [Payload] {
      #expect(code(payload) == .badID, "\(payload.type)")
    }
  }
}
