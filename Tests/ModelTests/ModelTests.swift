import Events
import Testing
import Workload

@testable import Model

/// The complete state of the model as text.
private func everything(_ model: Model) -> [String] {
  var lines = model.allFollows.map(\.description) + model.allPosts.map(\.description)
  lines += model.allMessages.map(\.description) + model.allProfiles.map(\.description)
  lines += model.allLikes.map(\.description) + model.allComments.map(\.description)
  lines += model.notifications.map(\.description) + model.home.map(\.description)
  lines += model.allContributions.map { row in
    var row = row
    let arguments = row.arguments.map(jsonObject)
    row.arguments = nil
    return "\(row) \(arguments ?? "")"
  }.sorted()
  lines += model.sizes.map { "\($0)" }.sorted() + model.allWatermarks.map { "\($0)" }.sorted()
  lines += model.allMarks.map { "\($0)" }.sorted() + model.allMutes.map { "\($0)" }.sorted()
  lines += model.allSilences.map { "\($0)" }.sorted() + model.allBlocks.map { "\($0)" }.sorted()
  lines += model.allSubscriptions.map { "\($0)" }.sorted() + model.allReads.map { "\($0)" }
  lines += model.allProfileEdits.map { "\($0)" } + model.allZones.map { "\($0)" }.sorted()
  lines += model.allReminders.map { "\($0.user) \($0.id) \($0.version)" }.sorted()
  for (user, feed) in model.feeds.sorted(by: { $0.key < $1.key }) {
    lines.append("\(user): \(feed.map(\.id))")
  }
  for user in model.people.prefix(4) {
    lines.append("\(model.profileStats(of: user)) \(model.unreadCount(of: user))")
    lines += model.conversations(of: user).map(\.description)
  }
  return lines
}

@Suite struct ModelTests {
  @Test("any order and any repetition of the same events give the same tables", arguments: 1...2)
  func orderFree(seed: UInt64) {
    let events = Array(SocialWorkload(users: 30, events: 1000, seed: seed, erasures: 5))
    let expected = everything(Model(events))
    #expect(expected.count > 500)
    var random = SplitMix64(seed: seed)
    for _ in 0..<3 {
      let again = (0..<500).compactMap { _ in events.randomElement(using: &random) }
      let shuffled = (events + again).shuffled(using: &random)
      #expect(everything(Model(shuffled)) == expected, "seed \(seed)")
    }
  }

  @Test("the feeds of all users equal each user's feed")
  func feeds() {
    let model = Model(SocialWorkload(users: 30, events: 1000, seed: 9))
    let feeds = model.feeds
    for user in model.people {
      #expect(model.feed(of: user) == feeds[BytewiseString(user)] ?? [])
    }
  }
}

@Suite struct ModelErasureTests {
  /// When each person was last erased.
  private func erasures(_ events: [Event]) -> [BytewiseString: EventTime] {
    events.reduce(into: [:]) { erasures, event in
      guard case .userErased(let data) = event.payload else { return }
      let person = BytewiseString(data.user)
      erasures[person] = max(erasures[person] ?? event.time, event.time)
    }
  }

  @Test("the model has what is left of each event, whenever the erasures arrive", arguments: 1...2)
  func forgetting(seed: UInt64) {
    let events = Array(SocialWorkload(users: 40, events: 1200, seed: seed, erasures: 8))
    let erasures = erasures(events)
    #expect(erasures.count > 5)
    let left = events.compactMap { event in
      event.forgetting(formerReceiver: { FormerPerson.id(hash: $0) }) { id in
        erasures[BytewiseString(id)].map { event.time <= $0 } ?? false
      }
    }
    #expect((events.count / 4..<events.count).contains(left.count))
    let model = Model(events)
    let others = events.filter { $0.type != .userErased }
    for event in others {
      let left = event.forgetting(
        formerReceiver: { FormerPerson.id(hash: $0) },
        { id in erasures[BytewiseString(id)].map { event.time <= $0 } ?? false })
      if model.remaining(event) != left { Issue.record("\(event)") }
    }
    let expected = everything(Model(left.filter { $0.type != .userErased }))
    var random = SplitMix64(seed: seed)
    for log in [events, events.reversed(), events.shuffled(using: &random)] {
      var applied = Model()
      for event in log { applied.apply(event) }
      let differences = everything(applied).difference(from: expected)
      #expect(Array(differences.prefix(3)).isEmpty, "seed \(seed)")
    }
    // Of whom no later event is, no row names anybody.
    let gone = erasures.filter { person, at in
      !events.contains { $0.time > at && $0.people.contains { $0.hasSameBytes(as: person.string) } }
    }
    #expect(!gone.isEmpty)
    for line in expected {
      let words = line.split { $0 == " " || $0 == "\"" || $0 == "," || $0 == "|" }
      let found = words.first { gone[BytewiseString(String($0))] != nil }
      if let found { Issue.record("\(found): \(line)") }
    }
  }

  @Test("silences of an erased person go, also those of the alarms of their messages")
  func silences() {
    var story = Story()
    for (scope, kind, subject, actor) in [
      ("actor", "", "", "x"), ("subject", "message", "x", ""), ("subject", "F03", "x", ""),
      ("subject", "comment-like", "x", ""),
    ] {
      story.at(
        1,
        .alarmDisabled(
          .with {
            ($0.user, $0.scope, $0.kind) = ("ann", scope, kind)
            ($0.subject, $0.actor) = (subject, actor)
          }))
    }
    #expect(story.model.allSilences.count == 4)
    story.at(2, .userErased(.with { $0.user = "x" }))
    let kind = Model().kinds.kind("comment-like")?.code.number
    #expect(story.model.allSilences.map(\.type) == [kind])
  }

  @Test("what happens after an erasure counts, and what arrives late does not")
  func again() {
    var story = Story()
    story.at(5, .userErased(.with { $0.user = "x" }))
    story.at(4, Story.like("x"))
    #expect(story.model.allLikes == [])
    story.at(6, Story.like("x"))
    let firstAt = EventTime(microseconds: Story.start + 6_000_000)
    #expect(story.model.allLikes.map(\.firstAt) == [firstAt])
    story.at(5, Story.like("x", "q"))
    #expect(story.model.allLikes.count == 1)
    story.at(7, .userErased(.with { $0.user = "x" }))
    story.at(5, .userErased(.with { $0.user = "x" }))
    #expect(story.model.allLikes == [])
  }

  @Test("a message to an erased person stays its sender's, in a conversation with nobody")
  func messages() {
    var story = Story()
    func message(_ id: String, _ sender: String, _ receiver: String) -> Payload {
      .messageSent(.with { ($0.message, $0.sender, $0.receiver) = (id, sender, receiver) })
    }
    story.at(1, message("m", "ann", "x"))
    story.at(2, message("n", "x", "ann"))
    story.at(3, message("o", "x", "x"))
    story.at(4, .conversationRead(.with { ($0.user, $0.peer) = ("ann", "x") }))
    story.at(5, .userErased(.with { $0.user = "x" }))
    #expect(story.model.allMessages.map(\.id) == ["m"])
    #expect(story.model.conversations(of: "ann").map(\.peer) == ["erased:x"])
    #expect(story.model.conversations(of: "x") == [])
    #expect(story.model.notifications.isEmpty)
    #expect(story.model.allReads.isEmpty)
  }
}

/// Hand-written events at given seconds.
private struct Story {
  var model = Model()
  var count = 0
  static let start: Int64 = 1_735_689_600_000_000  // 2025-01-01

  mutating func at(_ second: Int64, _ payload: Payload) {
    count += 1
    let time = EventTime(microseconds: Self.start + second * 1_000_000)
    model.apply(Event(id: "e\(count)", source: "story", time: time, payload: payload))
  }

  static func like(_ actor: String, _ post: String = "p") -> Payload {
    .likeCreated(.with { ($0.actor, $0.post, $0.postOwner) = (actor, post, "o") })
  }

  static func unlike(_ actor: String, _ post: String = "p") -> Payload {
    .likeRemoved(.with { ($0.actor, $0.post, $0.postOwner) = (actor, post, "o") })
  }
}

@Suite struct NotificationRuleTests {
  @Test("likes of a post on a day are one notification, led by the newest")
  func groups() {
    var story = Story()
    for (second, actor) in ["a", "b", "c"].enumerated() {
      story.at(Int64(second), Story.like(actor))
    }
    let notifications = story.model.notifications(of: "o")
    #expect(notifications.count == 1)
    #expect(notifications.first?.actor == "c")
    #expect(notifications.first?.secondActor == "b")
    #expect(notifications.first?.actorCount == 3)
    #expect(notifications.first?.bucket == "2025-01-01")
    story.at(86_400, Story.like("d"))
    #expect(story.model.notifications(of: "o").map(\.actor) == ["d", "c"])
  }

  @Test("a like withdrawn and renewed returns to its old place and does not ring again")
  func likeUnlikeLike() {
    var story = Story()
    story.at(0, Story.like("a"))
    let before = story.model.notifications
    story.at(1, .alarmReadAll(.with { $0.user = "o" }))
    story.at(2, Story.unlike("a"))
    #expect(story.model.notifications.isEmpty)
    story.at(3, Story.like("a"))
    let after = story.model.notifications
    #expect(after.map(\.raisedAt) == before.map(\.raisedAt))
    #expect(story.model.unreadCount(of: "o") == 0)
    #expect(story.model.postStats["p"]?.likes == 1)
  }

  @Test("an earlier like that arrives late moves the notification to its own day")
  func movesDay() {
    var story = Story()
    story.at(90_000, Story.like("a"))
    #expect(story.model.notifications.map(\.bucket) == ["2025-01-02"])
    story.at(10, Story.like("a"))
    #expect(story.model.notifications.map(\.bucket) == ["2025-01-01"])
  }

  @Test("actions on one's own content count but notify nobody")
  func oneself() {
    var story = Story()
    story.at(0, Story.like("o"))
    story.at(
      1,
      .commentCreated(
        .with {
          ($0.comment, $0.actor, $0.post, $0.postOwner) = ("c", "o", "p", "o")
          $0.mentions = ["o", "m"]
        }))
    #expect(story.model.postStats["p"]?.likes == 1)
    #expect(story.model.postStats["p"]?.comments == 1)
    #expect(story.model.notifications.map(\.recipient) == ["m"])
    #expect(story.model.notifications.map(\.subject) == ["comment:c"])
  }

  @Test("muting suppresses later events until the unmuting")
  func mutes() {
    var story = Story()
    story.at(10, .alarmMuted(.with { ($0.user, $0.type) = ("o", "like") }))
    story.at(20, .alarmUnmuted(.with { ($0.user, $0.type) = ("o", "like") }))
    for second: Int64 in [5, 10, 15, 20, 25] {
      story.at(second, Story.like("a\(second)", "p\(second)"))
    }
    #expect(story.model.notifications.map(\.subject) == ["p25", "p10", "p5"])
  }

  @Test("deleted contributions stay hidden, later ones are shown")
  func deletes() throws {
    var story = Story()
    story.at(0, Story.like("a"))
    story.at(1, Story.like("b"))
    let id = try #require(story.model.notifications.first?.id)
    story.at(2, .alarmDeleted(.with { ($0.user, $0.notification) = ("x", id) }))
    #expect(story.model.notifications.count == 1)
    story.at(2, .alarmDeleted(.with { ($0.user, $0.notification) = ("o", id.uppercased()) }))
    #expect(story.model.notifications.isEmpty)
    story.at(3, Story.like("c"))
    #expect(story.model.notifications.map(\.actorCount) == [1])
    story.at(4, .alarmAllDeleted(.with { $0.user = "o" }))
    #expect(story.model.notifications.isEmpty)
    #expect(story.model.unreadCount(of: "o") == 0)
  }

  @Test("an edit that drops a mention withdraws it, a deletion withdraws all of them")
  func mentions() {
    var story = Story()
    func publish(_ mentions: [String]) -> Payload {
      .postPublished(
        .with { ($0.post, $0.author, $0.title, $0.mentions) = ("p", "o", "hi", mentions) })
    }
    story.at(0, publish(["a", "b"]))
    #expect(story.model.notifications.count == 2)
    story.at(2, publish(["b"]))
    #expect(story.model.notifications.map(\.recipient) == ["b"])
    #expect(story.model.notifications.map(\.raisedAt.microseconds) == [Story.start])
    story.at(1, publish(["c"]))  // Arrives late, and is outdated.
    #expect(story.model.notifications.map(\.recipient) == ["b"])
    story.at(3, .postDeleted(.with { ($0.post, $0.author) = ("p", "o") }))
    #expect(story.model.notifications.isEmpty)
    #expect(story.model.home.isEmpty)
  }
}
