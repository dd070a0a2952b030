import Events
import Foundation
import Handling
import Notifications
import Postgres
import TestSupport
import Testing

/// Measurements of much background work, to be read by people: `MAGPIE_MEASURE=1 swift test --filter
/// NotificationsTests.MeasurementTests`.
@Suite(
  "Measurements", .serialized,
  .enabled(if: ProcessInfo.processInfo.environment["MAGPIE_MEASURE"] != nil))
struct MeasurementTests {
  /// Likes of one person's posts. Then a muting from before all of them and its end, the muting and the
  /// block of somebody without a like, and the block of a fan with a like of each post and its end.
  @Test(
    "late mutings and blocks over many contributions",
    arguments: [(500_000, 1), (500_000, 25_000), (5_000_000, 50_000)])
  func muting(likes: Int, posts: Int) throws {
    let world = try World()
    let filler = try Connection(world.url, applicationName: "test")
    // Any ids will do that are the same for the same post: no notification has been published
    // before.
    try filler.script(
      """
      INSERT INTO notification_recipients (user_id) VALUES ('star');
      INSERT INTO likes
        SELECT 'post-' || n % \(posts), CASE WHEN n <= \(posts) THEN 'fan' ELSE 'user-' || n END, 'star', true, t.at, t.at, n::text
        FROM generate_series(1, \(likes)) n
        CROSS JOIN LATERAL (SELECT '2026-03-01T01:00:00Z'::timestamptz + n % 80000000 * interval '1 ms') t (at);
      INSERT INTO notification_actors
        SELECT 'star', 0, l.post_id, l.actor, l.actor, true, false, l.first_at,
          md5(l.post_id)::uuid, l.post_id, NULL, '', l.version_time, l.version_id FROM likes l;
      INSERT INTO notifications
        SELECT a.notification_id, 'star', 0, a.subject, '2026-03-01', max(a.actor), min(a.actor),
          count(*), count(*), a.subject, NULL, '', max(a.first_at), min(a.first_at), 1, 1
        FROM notification_actors a GROUP BY a.notification_id, a.subject;
      ANALYZE likes, notification_actors, notification_recipients, notifications;
      """)
    // As the functions that read the view do.
    try world.connection.script("SET jit = off")
    let clock = ContinuousClock()
    let toggles = [
      ("late mute", mute("star", .like, at: 1)), ("late unmute", unmute("star", .like, at: 2)),
      ("mute of a person, in time", mutePerson("star", "stranger", at: 10_000)),
      ("block of a stranger", block("star", "stranger", at: 3)),
      ("block of a fan", block("star", "fan", at: 4)), ("unblock", unblock("star", "fan", at: 5)),
    ]
    for (name, toggle) in toggles {
      let applied = try clock.measure { try world.apply(toggle) }
      let read = try clock.measure {
        _ = try world.connection.query(
          """
          SELECT FROM shown_notifications WHERE recipient = 'star'
          ORDER BY raised_at DESC, notification_id DESC LIMIT 50
          """)
      }
      let backlog = try Backlog(of: world)
      print(
        "\(name), \(likes) likes of \(posts) posts: applied in \(applied), read in \(read) meanwhile;"
          + " \(backlog)")
      #expect(try world.connection.query("SELECT FROM reviewed_people()").isEmpty)
    }
  }

  /// A post by an author with subscribers, its edit and its deletion; beside it, one by an author with a
  /// single subscriber.
  @Test("a post for 300,000 subscribers")
  func bell() throws {
    let world = try World()
    let filler = try Connection(world.url, applicationName: "test")
    try filler.script(
      """
      INSERT INTO author_subscriptions
        SELECT 'star', 'user-' || n, '2026-03-01T00:00:00Z', 'e', true
        FROM generate_series(1, 300000) n;
      INSERT INTO author_subscriptions VALUES ('novice', 'ann', '2026-03-01T00:00:00Z', 'e', true);
      INSERT INTO notification_recipients (user_id)
        SELECT DISTINCT subscriber FROM author_subscriptions;
      ANALYZE author_subscriptions, notification_recipients;
      """)
    let clock = ContinuousClock()
    for (name, event) in [
      ("post", post("p", by: "star", "title", at: 1)),
      ("edit", post("p", by: "star", "edited", at: 2)),
      ("deletion", postDeletion("p", by: "star", at: 3)),
    ] {
      let applied = try clock.measure { try world.apply(event) }
      try world.apply(post("n \(name)", by: "novice", at: 4))
      var neighbour: Duration?
      let backlog = try Backlog(of: world) { total in
        if neighbour == nil,
          try !world.connection.query(
            "SELECT FROM notification_actors WHERE recipient = 'ann' AND subject = $1",
            [.text("n \(name)")]
          ).isEmpty
        {
          neighbour = total
        }
      }
      print(
        "\(name) for 300,000 subscribers: applied in \(applied); \(backlog); the other author's after"
          + " \(neighbour.map { "\($0)" } ?? "never")")
    }
    #expect(try world.violations() == [])
  }

  /// Likes received, contributions to others' notifications, posts and subscribers of one person, who is erased.
  @Test(
    "forgetting a person with many likes, and 100,000 contributions",
    arguments: [500_000, 5_000_000])
  func forgetting(likes: Int) throws {
    let world = try World()
    try world.owner.get().script(
      """
      DELETE FROM contribution_check;
      INSERT INTO notification_recipients (user_id) VALUES ('star');
      INSERT INTO notification_recipients (user_id) SELECT 'user-' || n FROM generate_series(0, 19999) n;
      CREATE TEMP TABLE l AS
        SELECT 'star-' || n % 100000 AS post, 'user-' || n AS actor, 'star' AS owner, n
        FROM generate_series(1, \(likes)) n
        UNION ALL
        SELECT 'post-' || n, CASE k WHEN 0 THEN 'star' ELSE 'fan-' || k END, 'user-' || n % 20000, n
        FROM generate_series(1, 60000) n CROSS JOIN generate_series(0, 3) k;
      INSERT INTO likes
        SELECT l.post, l.actor, l.owner, true, t.at, t.at, l.n::text
        FROM l CROSS JOIN LATERAL (SELECT '2026-03-01Z'::timestamptz + n * interval '1 ms') t (at);
      INSERT INTO notification_actors
        SELECT l.post_owner, 0, l.post_id, l.actor, l.actor, true, false, l.first_at,
          md5(l.post_id)::uuid, l.post_id, NULL, '', l.version_time, l.version_id FROM likes l;
      INSERT INTO comments
        SELECT 'comment-' || n, 'post-' || n, 'user-' || n, 'star', 'text', '{}', true, '2026-03-01Z',
          '2026-03-01Z', n::text
        FROM generate_series(0, 19999) n;
      INSERT INTO notification_actors
        SELECT c.post_owner, 1, c.comment_id, c.comment_id, 'star', true, false, c.first_at,
          md5(c.comment_id)::uuid, c.post_id, c.comment_id, 'text', c.version_time, c.version_id
        FROM comments c
        UNION ALL
        SELECT 'user-' || n, 2, '', 'star', 'star', true, false, '2026-03-01Z', md5('f' || n)::uuid,
          NULL, NULL, '', '2026-03-01Z', n::text
        FROM generate_series(0, 19999) n;
      INSERT INTO notifications
        SELECT a.notification_id, a.recipient, a.type, a.subject, '2026-03-01', max(a.actor), min(a.actor),
          count(*), count(*), a.subject, NULL, '', max(a.first_at), min(a.first_at), 1, 1
        FROM notification_actors a GROUP BY a.notification_id, a.recipient, a.type, a.subject;
      INSERT INTO post_facts
        SELECT 'star-' || n, 'star', 'title', '', '{}', false, '2026-03-01Z', '2026-03-01Z', n::text
        FROM generate_series(1, 100000) n;
      INSERT INTO author_subscriptions
        SELECT 'star', 'user-' || n, '2026-02-01Z', 'e', true FROM generate_series(0, 19999) n;
      ANALYZE;
      """)
    // Others like what the person has liked, and one another's posts.
    let url = world.url
    func neighbour(_ label: String) -> Neighbour {
      Neighbour(atLeast: 300) {
        let other = try World(url: url)
        return { number in
          try other.apply(
            like(
              "\(label)\(number)", "post-\(number)", of: "user-\(number % 20_000)", at: 200_000))
        }
      }
    }
    let before = neighbour("before")
    print("neighbours before: \(try before.stop())")
    try world.apply(erasure("star", at: 100_000))
    let beside = neighbour("beside")
    var backlogs: [Backlog] = []
    while try !world.connection.query("SELECT FROM notification_erasures").isEmpty {
      backlogs.append(try Backlog(of: world))
    }
    print("forgetting \(likes) likes: \(backlogs)")
    print("neighbours meanwhile: \(try beside.stop())")
    #expect(
      try world.connection.query("SELECT FROM likes WHERE actor = 'star' OR post_owner = 'star'")
        .isEmpty)
  }
}

/// What it took to do all queued background work.
private struct Backlog: CustomStringConvertible {
  private var pieces = 0
  private var published = 0
  private var longest = Duration.zero
  private var total = Duration.zero

  /// - Parameter afterPiece: Gets the time that all pieces so far took.
  init(of world: World, afterPiece: (Duration) throws -> Void = { _ in }) throws {
    var hasMore = true
    while hasMore {
      let time = try ContinuousClock().measure {
        let piece = try testHandler.runBacklogDirectly(on: world.connection)
        hasMore = piece.hasMore
        published += piece.events.count
      }
      (longest, total, pieces) = (max(longest, time), total + time, pieces + 1)
      try afterPiece(total)
    }
  }

  var description: String {
    "\(pieces) pieces, longest \(longest), all \(total), \(published) snapshots"
  }
}
