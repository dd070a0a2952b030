import Events
import Workload

/// Authors with followers, a few of them with many, and their posts.
struct FanoutWorkload {
  var people: Int
  var posts: Int
  /// The followers of each author.
  let followers: [[Int]]
  var seed: UInt64

  /// 592,719 deliveries of 2,000 posts to 20,000 people, or a fiftieth of that.
  init(quick: Bool, seed: UInt64) {
    self.init(
      people: quick ? 1_000 : 20_000, authors: quick ? 20 : 200, posts: quick ? 200 : 2_000,
      follows: quick ? 1_186 : 59_272, seed: seed)
  }

  init(people: Int, authors: Int, posts: Int, follows: Int, seed: UInt64) {
    (self.people, self.posts, self.seed) = (people, posts, seed)
    var random = SplitMix64(seed: seed)
    // The n-th author has followers in proportion to 1 / (n + a tenth of the number of authors).
    let weights = (0..<authors).map { 1 / (Double($0) + Double(authors) / 10) }
    let all = weights.reduce(0, +)
    var sizes = weights.map { min(people - 1, Int($0 / all * Double(follows))) }
    // The first author has one more follower than the second and one post less (see `author`), so
    // the number of deliveries is ten times the number of follows, minus one.
    sizes[0] = sizes[1] + 1
    var missing = follows - sizes.reduce(0, +)
    var index = authors - 1
    while missing != 0 {
      sizes[index] += missing.signum()
      missing -= missing.signum()
      index = index > 2 ? index - 1 : authors - 1
    }
    followers = sizes.map { size in
      var chosen = Set<Int>()
      while chosen.count < size { chosen.insert(Int.random(in: 0..<people, using: &random)) }
      return chosen.sorted()
    }
  }

  var follows: Int { followers.reduce(0) { $0 + $1.count } }
  var authors: Int { followers.count }

  func author(_ post: Int) -> Int { post == 0 ? 1 : post % authors }

  var deliveries: Int { (0..<posts).reduce(0) { $0 + followers[author($1)].count } }

  func followEvents(at start: Int64) -> [Event] {
    followers.enumerated().flatMap { author, readers in
      readers.map { reader in
        Event(
          id: "f-\(author)-\(reader)", source: "bench", time: EventTime(microseconds: start),
          payload: .followCreated(
            .with { ($0.follower, $0.followee) = (Self.reader(reader), Self.author(author)) }))
      }
    }
  }

  /// - Parameter series: distinguishes the posts of different series.
  func postEvents(at start: Int64, series: String = "") -> [Event] {
    (0..<posts).map { Self.post(by: author($0), "\(series)\($0)", at: start + Int64($0) * 1000) }
  }

  static func post(by author: Int, _ name: String, at microseconds: Int64) -> Event {
    ordinaryPost(
      "post-\(name)", by: Self.author(author), title: "Title \(name)", event: "p-\(name)",
      at: EventTime(microseconds: microseconds))
  }

  static func reader(_ number: Int) -> String { "reader-\(number)" }
  static func author(_ number: Int) -> String { "author-\(number)" }
}

/// A post with the caption that all benchmarks use.
func ordinaryPost(
  _ id: String, by author: String, title: String, event: String, at time: EventTime
) -> Event {
  Event(
    id: event, source: "bench", time: time,
    payload: .postPublished(
      .with {
        ($0.post, $0.author, $0.title) = (id, author, title)
        $0.caption = "A caption of an ordinary length, about as long as this one here."
      }))
}
