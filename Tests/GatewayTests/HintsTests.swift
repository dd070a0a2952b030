import Events
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// At which of their screens streams look after which hints.
@Suite struct HintsTests {
  /// The looks of a stream, all of them taken so far.
  struct Looks {
    let hints: Hints
    let subscription: Hints.Subscription
    private(set) var screens: StreamScreens = []

    init(_ hints: Hints, _ person: String) {
      (self.hints, subscription) = (hints, hints.subscribe(person))
      let first = hints.takeLook(subscription)
      #expect(first == .all)
    }

    mutating func take() -> StreamScreens {
      screens.formUnion(hints.takeLook(subscription))
      return screens
    }
  }

  @Test("a stream looks at what hints were about since its last look, and in the end at everything")
  func union() async throws {
    let pauses = Pauses()
    defer { pauses.open() }
    let hints = Hints { _ in await pauses.pause() }
    var (ann, eve) = (Looks(hints, "ann"), Looks(hints, "eve"))
    hints.hint(.person("ann"), .alarms)
    try await pauses.end(1)
    try await eventually("a look at alarms") { ann.take() == .alarms }
    hints.hint(.person("ann"), .conversations)
    try await pauses.end(2)
    try await eventually("a look at both") { ann.take() == [.alarms, .conversations] }
    pauses.open()
    try await eventually("the last look") { ann.take() == .all }
    let others = eve.take()
    #expect(others.isEmpty)
  }

  @Test("hints of one kind do not end the looks after those of another")
  func kinds() async throws {
    let pauses = Pauses()
    defer { pauses.open() }
    let hints = Hints { _ in await pauses.pause() }
    var ann = Looks(hints, "ann")
    hints.hint(.person("ann"), .conversations)
    for _ in 0..<4 {
      hints.hint(.person("ann"), .alarms)
      try await pauses.end(2)
    }
    try await eventually("the last look after the message") { ann.take() == .all }
  }

  @Test("what a look missed is looked at again, with what was hinted since")
  func missed() async throws {
    let hints = Hints()
    var ann = Looks(hints, "ann")
    hints.missed(ann.subscription, .conversations)
    #expect(hints.hasLook(ann.subscription))
    hints.hint(.person("ann"), .alarms)
    try await eventually("both") { ann.take().isSuperset(of: [.alarms, .conversations]) }
    hints.unsubscribe(ann.subscription)
    hints.missed(ann.subscription, .all)
    #expect(!hints.hasLook(ann.subscription) && hints.takeLook(ann.subscription).isEmpty)
  }

  @Test("every heartbeat is owed a comment; a look at everything comes in turns")
  func heartbeats() {
    let hints = Hints()
    let ann = Looks(hints, "ann")
    #expect(!hints.takeComment(ann.subscription))
    var looks = 0
    for number in 0..<GatewayLimits.heartbeatsPerLook {
      hints.wakeAll(looking: number)
      #expect(hints.takeComment(ann.subscription) && !hints.takeComment(ann.subscription))
      guard hints.hasLook(ann.subscription) else { continue }
      #expect(hints.takeLook(ann.subscription) == .all)
      looks += 1
    }
    #expect(looks == 1)
    hints.wakeAll(looking: nil)
    #expect(hints.takeLook(ann.subscription) == .all)
  }

  @Test("each event makes those look who may see it, at what may show it")
  func records() throws {
    func hinted(_ payload: Payload) throws -> [Subject: StreamScreens] {
      let event = Event(id: "e", source: "test", time: .now, payload: payload)
      let record = try EventCodec.encode(event)
      return Dictionary(
        HintReader.hints(of: record, event.topic).map { ($0.subject, $0.screens) },
        uniquingKeysWith: { $0.union($1) })
    }
    let chat: StreamScreens = [.conversations, .watched]
    let blocked: [Subject: StreamScreens] = [
      .person("ann"): .all, .author("ann"): .all, .person("bob"): .all,
    ]
    let expected: [(Payload, [Subject: StreamScreens])] = [
      (.message("m", from: "ann", to: "bob", "hi"), [.person("ann"): chat, .person("bob"): chat]),
      // Which also reads the alarms of its messages.
      (.read("bob", "ann"), [.person("ann"): .all, .person("bob"): .all]),
      (.alarmSeen(.with { $0.user = "bob" }), [.person("bob"): [.alarms, .watched]]),
      (.like("ann", "p", of: "bob"), [.author("bob"): .watched]),
      (.personBlocked(.with { ($0.user, $0.person) = ("ann", "bob") }), blocked),
      (.personUnblocked(.with { ($0.user, $0.person) = ("ann", "bob") }), blocked),
    ]
    for (payload, screens) in expected {
      let found = try hinted(payload)
      #expect(found == screens, "\(payload.type)")
    }
  }

  @Test("what cannot be decoded makes its person look at everything")
  func malformed() {
    for topic in [Topic.people, .messages] {
      let record = WireRecord(key: Array("ann".utf8), value: [0xFF], headers: [])
      let hints = HintReader.hints(of: record, topic)
      #expect(hints.contains { $0.subject == .person("ann") && $0.screens == .all })
      #expect(HintReader.hints(of: WireRecord(key: nil, value: nil, headers: []), topic).isEmpty)
    }
    #expect(LiveStream.screens.map(\.name) == ["badge", "alarms", "conversations"])
  }
}

/// Pauses that end when a test says so.
private final class Pauses: Sendable {
  private struct State {
    var waiting: [CheckedContinuation<Void, Never>] = []
    var isOpen = false
  }

  private let state = Mutex(State())

  func pause() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }

  /// Waits until there are so many, and ends them.
  func end(_ count: Int) async throws {
    try await eventually("\(count) pauses") { state.withLock { $0.waiting.count == count } }
    resume()
  }

  /// Ends all, and those to come.
  func open() {
    state.withLock { $0.isOpen = true }
    resume()
  }

  private func resume() {
    let ended = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in ended { continuation.resume() }
  }
}
