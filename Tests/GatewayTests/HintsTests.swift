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

  @Test("a stream looks at what a hint is about once its record is applied, and not before")
  func applied() async throws {
    let hints = Hints { _ in await Task.yield() }
    var (ann, eve) = (Looks(hints, "ann"), Looks(hints, "eve"))
    let progress = Progress()
    let following = Task { await hints.follow(progress.ask) }
    hints.hint(Hint(subject: .person("ann"), screens: .alarms), change(7))
    hints.hint(Hint(subject: .person("ann"), screens: .conversations), change(8))
    for applied in [0, 7] as [Int64] {
      try await progress.set(applied)
      #expect(!hints.hasLook(ann.subscription))
    }
    try await progress.set(8)
    let first = ann.take()
    #expect(first == .alarms)
    progress.finish()
    try await eventually("the second look") { ann.take() == [.alarms, .conversations] }
    let others = eve.take()
    #expect(others.isEmpty)
    hints.close()
    await following.value
  }

  @Test(
    "a stream looks some time after a record that no worker applies, unless it has looked since")
  func rendered() async throws {
    let pauses = Pauses()
    defer { pauses.open() }
    let hints = Hints { _ in await pauses.pause() }
    let (ann, eve) = (Looks(hints, "ann"), Looks(hints, "eve"))
    for person in ["ann", "eve"] {
      hints.hint(
        Hint(subject: .person(person), screens: .alarms),
        Position(topic: .alarmChanges, partition: 0, offset: 1))
    }
    try await pauses.end(2)
    try await eventually("the second pauses") { pauses.count == 2 }
    hints.missed(eve.subscription, .all)
    #expect(hints.takeLook(eve.subscription) == .all)
    try await pauses.end(2)
    try await eventually("the end") { hints.state.withLock { $0.scheduled.isEmpty } }
    #expect(hints.takeLook(ann.subscription) == .alarms && !hints.hasLook(eve.subscription))
  }

  @Test("generated hints come back when their records are applied, whatever the order of both")
  func generated() {
    var random = SeededGenerator()
    for _ in 0..<200 {
      var unapplied = UnappliedHints()
      let hints = ["ann", "bob", "eve"].map { Hint(subject: .person($0), screens: .alarms) }
      let source = UnappliedHints.Source(group: .alarm, topic: .notificationChanges, partition: 1)
      // Of the model: the last record of each hint, which a look at the latest must follow.
      var last: [Hint: Int64] = [:]
      var (end, applied) = (Int64(0), Int64(0))
      for _ in 0..<Int.random(in: 1...100, using: &random) {
        if Bool.random(using: &random) {
          let hint = hints[Int.random(in: 0..<3, using: &random)]
          let isAdded = unapplied.add(hint, source, offset: end)
          #expect(isAdded)
          last[hint] = end
          end += 1
        } else {
          applied = Int64.random(in: applied...end, using: &random)
          let taken = unapplied.take(source, before: applied)
          #expect(Set(taken).count == taken.count)
          for (hint, offset) in last where offset < applied {
            #expect(taken.contains(hint))
            last[hint] = nil
          }
        }
      }
      let rest = unapplied.take(source, before: end)
      #expect(Set(rest).isSuperset(of: last.keys) && unapplied.sources.isEmpty)
    }
  }

  @Test("hints of a topic that was made anew do not wait for the old one's records")
  func topicMadeAnew() {
    var unapplied = UnappliedHints()
    let source = UnappliedHints.Source(group: .alarm, topic: .notificationChanges, partition: 1)
    let (old, new) = (
      Hint(subject: .person("ann"), screens: .alarms), Hint(subject: .person("eve"), screens: .all)
    )
    let areAdded = [
      unapplied.add(old, source, offset: 900), unapplied.add(new, source, offset: 3),
    ]
    #expect(areAdded == [true, true])
    unapplied.forget(.notificationChanges, 1, from: 4)
    let taken = unapplied.take(source, before: .max)
    #expect(taken == [new])
  }

  @Test("what a look missed is looked at again, with what was hinted since")
  func missed() {
    let hints = Hints()
    var ann = Looks(hints, "ann")
    hints.missed(ann.subscription, .conversations)
    #expect(hints.hasLook(ann.subscription))
    hints.wakeAll(looking: nil)
    let both = ann.take()
    #expect(both == .all)
    hints.unsubscribe(ann.subscription)
    hints.missed(ann.subscription, .all)
    #expect(!hints.hasLook(ann.subscription) && hints.takeLook(ann.subscription).isEmpty)
  }

  @Test("screens that rest are looked at afterwards, and the others meanwhile")
  func rest() async throws {
    let pauses = Pauses()
    defer { pauses.open() }
    let hints = Hints { _ in await pauses.pause() }
    let ann = Looks(hints, "ann")
    hints.rest(ann.subscription, .watched, for: .seconds(1))
    hints.wakeAll(looking: nil)
    #expect(hints.takeLook(ann.subscription) == [.alarms, .conversations])
    #expect(!hints.hasLook(ann.subscription))
    try await pauses.end(1)
    try await eventually("the rest is over") { hints.hasLook(ann.subscription) }
    #expect(hints.takeLook(ann.subscription) == .watched)
    var wakes = ann.subscription.wakes.makeAsyncIterator()
    #expect(await wakes.next() != nil)
    hints.close()
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
      (
        .followCreated(.with { ($0.follower, $0.followee) = ("ann", "bob") }),
        [.author("bob"): .watched, .person("ann"): .watched, .author("ann"): .watched]
      ),
      (
        .profileEdited(.with { ($0.user, $0.nickname) = ("bob", "B") }),
        [.person("bob"): .watched, .author("bob"): .watched]
      ),
      (
        .reminderCancelled(.with { ($0.user, $0.reminder) = ("bob", "r") }),
        [.person("bob"): .watched]
      ),
      (
        .userErased(.with { $0.user = "bob" }),
        [.person("bob"): .all, .author("bob"): .all, .posts: .watched]
      ),
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

private func change(_ offset: Int64) -> Position {
  Position(topic: .notificationChanges, partition: 0, offset: offset)
}

/// How far a worker is.
private final class Progress: Sendable {
  private let state = Mutex((offset: Int64(0), asked: 0))

  func ask(_ sources: [UnappliedHints.Source]) -> [(UnappliedHints.Source, Int64)] {
    state.withLock { state in
      state.asked += 1
      return sources.map { ($0, state.offset) }
    }
  }

  /// Waits until it has been noticed, which a second question shows as long as something is left.
  func set(_ offset: Int64) async throws {
    let before = state.withLock { state in
      state.offset = offset
      return state.asked
    }
    try await eventually("it is noticed") {
      state.withLock { $0.asked >= before + 2 }
    }
  }

  func finish() { state.withLock { $0.offset = .max } }
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

  var count: Int { state.withLock { $0.waiting.count } }

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
