import Events
import Model
import Testing
import Workload

/// The complete state of the model as text.
private func everything(_ model: Model) -> [String] {
  var lines = model.allFollows.map(\.description) + model.allPosts.map(\.description)
  lines += model.allMessages.map(\.description) + model.allProfiles.map(\.description)
  lines += model.allLikes.map(\.description) + model.allComments.map(\.description)
  lines += model.notifications.map(\.description) + model.home.map(\.description)
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
  @Test("any order and any repetition of the same events give the same tables", arguments: 1...3)
  func orderFree(seed: UInt64) {
    let events = Array(SocialWorkload(users: 30, events: 1000, seed: seed))
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
