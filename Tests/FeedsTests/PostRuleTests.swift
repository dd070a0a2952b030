import Model
import TestSupport
import Testing

@Suite struct PostRuleTests {
  @Test("a post reaches the feeds of its author's followers, and no others")
  func delivery() throws {
    let database = try FeedDatabase()
    try database.apply(
      Say.follow("bo", "ann", at: 1), Say.follow("cy", "ann", at: 1),
      Say.follow("ann", "dee", at: 1))
    let counts = try database.apply([Say.post("p", by: "ann", at: 2)])
    #expect(counts == ["deliveries": 2, "pruned": 0, "pulled": 0])
    #expect(try database.feed("bo") == ["p"])
    #expect(try database.feed("cy") == ["p"])
    #expect(try database.feed("ann") == [])
    #expect(try database.feed("nobody ever heard of") == [])
    #expect(try database.ids(database.pages("home_page")) == ["p"])
  }

  @Test("an event applied twice changes nothing")
  func duplicates() throws {
    let database = try FeedDatabase()
    let events = [
      Say.follow("bo", "ann", at: 1), Say.post("p", by: "ann", at: 2),
      Say.message("m", from: "ann", to: "bo", at: 3),
    ]
    try database.apply(events)
    try database.apply(events + events)
    #expect(try database.count("feed_entries") == 1)
    #expect(try database.stats("ann") == "1|1|0")
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
  }

  @Test("the newest version of a post wins, in the place of the earliest, in any order of arrival")
  func edits() throws {
    let follow = Say.follow("bo", "ann", at: 1)
    let other = Say.post("other", by: "ann", at: 20)
    let versions = [
      Say.post("p", by: "ann", at: 10, title: "old"),
      Say.post("p", by: "ann", at: 30, title: "new"),
      Say.post("p", by: "ann", at: 25, title: "between"),
    ]
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      let database = try FeedDatabase()
      try database.apply([follow, other])
      for version in order { try database.apply([versions[version]]) }
      #expect(try database.feed("bo") == ["other", "p"])
      #expect(try database.pages("home_page").last?.string.hasPrefix("p|ann|new|") == true)
      #expect(try database.differences(from: Model([follow, other] + versions)) == [])
      #expect(try database.violations() == [])
    }
  }

  @Test("publications of one post in one batch leave the newest content in the earliest place")
  func editInOneBatch() throws {
    let database = try FeedDatabase()
    try database.apply(Say.follow("bo", "ann", at: 1), Say.post("other", by: "ann", at: 20))
    let counts = try database.apply([
      Say.post("p", by: "ann", at: 10, title: "old"),
      Say.post("p", by: "ann", at: 30, title: "new"),
    ])
    #expect(counts == ["deliveries": 1, "pruned": 0, "pulled": 0])
    #expect(try database.feed("bo") == ["other", "p"])
    #expect(try database.pages("feed_page", ["bo"])[1].string.hasPrefix("p|ann|new|"))
  }

  @Test("an edit keeps the post's place and touches no feed entry")
  func editStays() throws {
    let database = try FeedDatabase()
    try database.apply(Say.follow("bo", "ann", at: 1))
    try database.apply(Say.post("p", by: "ann", at: 10), Say.post("q", by: "ann", at: 20))
    let rows = "SELECT string_agg(ctid::text || xmin::text, ' ' ORDER BY ctid) FROM feed_entries"
    let before = try database.connection.query(rows).only.text(0)
    let counts = try database.apply([Say.post("p", by: "ann", at: 30, title: "edited")])
    #expect(counts == ["deliveries": 0, "pruned": 0, "pulled": 0])
    #expect(try database.connection.query(rows).only.text(0) == before)
    #expect(try database.feed("bo") == ["q", "p"])
    #expect(try database.pages("feed_page", ["bo"])[1].string.hasPrefix("p|ann|edited|"))
    #expect(try database.violations() == [])
  }

  @Test("an earlier publication that arrives late moves the post to its place")
  func lateOriginal() throws {
    let database = try FeedDatabase()
    try database.apply(
      Say.follow("bo", "ann", at: 1), Say.post("p", by: "ann", at: 30, title: "edited"),
      Say.post("q", by: "ann", at: 20))
    #expect(try database.feed("bo") == ["p", "q"])
    let counts = try database.apply([Say.post("p", by: "ann", at: 10, title: "original")])
    #expect(counts == ["deliveries": 1, "pruned": 1, "pulled": 0])
    #expect(try database.feed("bo") == ["q", "p"])
    #expect(try database.pages("feed_page", ["bo"])[1].string.hasPrefix("p|ann|edited|"))
    #expect(try database.count("feed_entries") == 2)
    #expect(try database.violations() == [])
  }

  @Test("an earlier publication by somebody else moves the post, and leaves it to its author")
  func lateOriginalOfAnother() throws {
    let database = try FeedDatabase()
    let events = [
      Say.follow("bo", "ann", at: 1), Say.follow("cy", "dee", at: 1),
      Say.post("q", by: "ann", at: 20), Say.post("p", by: "ann", at: 30, title: "kept"),
      Say.post("p", by: "dee", at: 10, title: "lost"),
    ]
    for event in events { try database.apply([event]) }
    #expect(try database.feed("bo") == ["q", "p"])
    #expect(try database.feed("cy") == [])
    #expect(try database.differences(from: Model(events)) == [])
    #expect(try database.violations() == [])
  }

  @Test("a post that is deleted and published again returns to its place")
  func publishedAgain() throws {
    let follow = Say.follow("bo", "ann", at: 1)
    let (first, other) = (Say.post("p", by: "ann", at: 10), Say.post("q", by: "ann", at: 20))
    let (deleted, again) = (Say.delete("p", by: "ann", at: 30), Say.post("p", by: "ann", at: 40))
    for order in [
      [first, deleted, again], [deleted, first, again], [deleted, again, first],
      [again, first, deleted],
    ] {
      let database = try FeedDatabase()
      try database.apply(follow, other)
      for event in order { try database.apply([event]) }
      #expect(try database.feed("bo") == ["q", "p"])
      #expect(try database.differences(from: Model([follow, other] + order)) == [])
      #expect(try database.violations() == [])
    }
  }

  @Test("of two versions with the same time, the one with the greater event id wins")
  func tie() throws {
    for ids in [["a", "b"], ["b", "a"]] {
      let database = try FeedDatabase()
      for id in ids { try database.apply(Say.post("p", by: "ann", at: 1, title: id, id: id)) }
      #expect(try database.pages("home_page")[0].string.hasPrefix("p|ann|b|"))
    }
  }

  @Test("a post published again by another author moves from one feed to the other")
  func newAuthor() throws {
    let database = try FeedDatabase()
    try database.apply(Say.follow("bo", "ann", at: 1), Say.follow("cy", "dee", at: 1))
    try database.apply(Say.post("p", by: "ann", at: 2), Say.post("p", by: "dee", at: 3))
    #expect(try database.feed("bo") == [])
    #expect(try database.feed("cy") == ["p"])
    #expect(try database.violations() == [])
  }

  @Test("a deletion removes the post from feeds, even if it arrives before the post")
  func deletion() throws {
    let database = try FeedDatabase()
    try database.apply(Say.follow("bo", "ann", at: 1))
    try database.apply(Say.post("p", by: "ann", at: 2), Say.delete("p", by: "ann", at: 3))
    try database.apply(Say.delete("q", by: "ann", at: 3), Say.post("q", by: "ann", at: 2))
    #expect(try database.feed("bo") == [])
    #expect(try database.count("feed_entries") == 0)
    #expect(try database.stats("ann") == "0|1|0")
    try database.apply(Say.post("q", by: "ann", at: 4))
    #expect(try database.feed("bo") == ["q"])
  }

  @Test("posts of authors with as many followers as the push limit are merged at read time")
  func pull() throws {
    let database = try FeedDatabase(pushLimit: 2)
    try database.apply(Say.follow("bo", "ann", at: 1), Say.follow("bo", "cy", at: 1))
    try database.apply(Say.post("pushed", by: "ann", at: 2), Say.post("between", by: "cy", at: 3))
    try database.apply(Say.follow("dee", "ann", at: 4))
    #expect(try database.apply([Say.post("pulled", by: "ann", at: 5)])["deliveries"] == 0)
    #expect(try database.feed("bo") == ["pulled", "between", "pushed"])
    #expect(try database.feed("dee") == ["pulled", "pushed"])
    try database.apply(Say.unfollow("dee", "ann", at: 6))
    #expect(try database.feed("dee") == [])
    #expect(try database.violations() == [])
  }

  @Test("hundreds of posts in one microsecond all get a key, within and across batches")
  func crowd() throws {
    var random = SeededGenerator()
    let follow = Say.follow("bo", "ann", at: 0)
    let posts = (0..<900).map { Say.post("p\($0)", by: "ann", at: 7) }
    let model = Model([follow] + posts)
    for _ in 0..<2 {
      let database = try FeedDatabase()
      try database.apply(follow)
      for batch in batches(of: posts.shuffled(using: &random), upTo: 400, using: &random) {
        try database.apply(batch)
      }
      #expect(try database.count("feed_entries") == 900)
      #expect(
        try database.differences(from: model) { Int.random(in: 1...200, using: &random) } == [])
      #expect(try database.violations() == [])
    }
  }

  @Test("ids that are equal to Swift are two users to PostgreSQL, and to the handler")
  func bytewise() throws {
    let database = try FeedDatabase()
    let events = [
      Say.follow("bo", "é", at: 1), Say.follow("cy", "e\u{301}", at: 2),
      Say.post("é", by: "é", at: 3, id: "1"), Say.post("e\u{301}", by: "e\u{301}", at: 4, id: "2"),
    ]
    try database.apply(events)
    #expect(try database.count("posts") == 2)
    #expect(try database.differences(from: Model(events)) == [])
  }
}
