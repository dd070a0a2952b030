import Events
import Foundation
import Handling
import Postgres
import TestSupport
import Testing

@testable import Feeds

/// Measurements to be read by people: `MAGPIE_MEASURE=1 swift test --filter FeedsTests.MeasurementTests`.
@Suite(
  "Measurements of feeds", .serialized,
  .enabled(if: ProcessInfo.processInfo.environment["MAGPIE_MEASURE"] != nil))
struct MeasurementTests {
  /// Half of the posts are in the feeds of followers, from when the author had few.
  @Test(
    "forgetting an author with a million followers and 100,000 posts",
    arguments: [(followers: 100_000, posts: 10_000), (followers: 1_000_000, posts: 100_000)])
  func forgetting(followers: Int, posts: Int) throws {
    let database = try FeedDatabase()
    func publish(_ numbers: Range<Int>) throws {
      for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 500) {
        try database.apply(
          (start..<min(start + 500, numbers.upperBound)).map {
            Say.post("p\($0)", by: "star", at: Int64($0) * 1000, title: "a title")
          })
      }
    }
    try database.apply((0..<1000).map { Say.follow("fan\($0)", "star", at: 0) })
    try publish(0..<posts / 2)
    _ = try database.asOwner {
      try database.connection.script(
        """
        INSERT INTO users (user_id) SELECT 'f' || n FROM generate_series(1, \(followers)) n;
        INSERT INTO follows
          SELECT s.user_key, f.user_key, true, '1970-01-01Z'::timestamptz + f.user_key * interval '1 us', f.user_id
          FROM users s, users f WHERE s.user_id = 'star' AND f.user_id LIKE 'f%' AND f.user_id NOT LIKE 'fan%';
        INSERT INTO follow_counts (user_key, following)
          SELECT f.user_key, 1 FROM users f WHERE f.user_id LIKE 'f%' AND f.user_id NOT LIKE 'fan%';
        UPDATE follow_counts SET followers = followers + \(followers)
          WHERE user_key = (SELECT user_key FROM users WHERE user_id = 'star');
        ANALYZE;
        """)
    }
    try publish(posts / 2..<posts)
    // Others follow and publish, some of them followers of the author.
    let url = database.url
    func neighbour(_ label: String) -> Neighbour {
      Neighbour(atLeast: 300) {
        let other = try FeedDatabase(url: url, handler: feedHandler(FeedLimits()))
        return { number in
          let (name, at) = ("f\(number * 7 % followers + 1)", Int64(2_000_000_000 + number))
          _ = try other.applyRetrying([
            Say.follow(name, "o\(number % 100)", at: at),
            Say.post("\(label)\(number)", by: name, at: at),
          ])
        }
      }
    }
    let before = neighbour("before")
    print("neighbours before: \(try before.stop())")
    try database.apply(
      Say.event("gone", 1_000_000_000, .userErased(.with { $0.user = "star" })))
    let beside = neighbour("beside")
    var (pieces, longest) = (0, Duration.zero)
    let all = try ContinuousClock().measure {
      while try !database.connection.query("SELECT FROM fanout_erasures").isEmpty {
        let time = try ContinuousClock().measure {
          _ = try database.handler.runBacklogDirectly(on: database.connection)
        }
        (pieces, longest) = (pieces + 1, max(longest, time))
      }
    }
    print(
      "\(followers) followers, \(posts) posts: \(pieces) pieces, longest \(longest), all \(all)")
    print("neighbours meanwhile: \(try beside.stop())")
    #expect(try database.connection.query("SELECT FROM users WHERE user_id = 'star'").isEmpty)
  }
}
