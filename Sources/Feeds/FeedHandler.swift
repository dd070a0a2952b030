import Events
public import Pipeline
import Postgres

/// The work of fanout-worker: posts, follows and messages into feeds, counts and conversations.
///
/// Each batch becomes a fixed number of set-based statements. What they do is a function of the
/// set of events ever applied, whatever their order, batches and duplicates, also when other
/// transactions run the same statements at the same time. Counts reported: `deliveries` (feed
/// entries of posts), `pulled` (posts merged when feeds are read), `backfilled` and `pruned` (feed
/// entries of follows and unfollows, and of posts that were edited or deleted). The backlog reports
/// `trimmed`, `evicted` and `returned` (feeds), `rebuilt` and `swept` (their entries).
///
/// - Parameters:
///   - pushLimit: an author with fewer followers than this has posts delivered into each follower's
///     feed; from here on they are merged when a feed is read, until there are fewer than four
///     fifths as many followers.
///   - feedLength: how many of its newest entries a feed stores, at least; up to as many more on
///     average. Older posts are found by the people followed when a page gets there.
///   - evictIdleDays: whoever was not here for so many days has nothing stored until they are back;
///     0 for nobody. For this a backend must call `feed_touch`.
public func feedHandler(
  pushLimit: Int = 10_000, feedLength: Int = 1_000, evictIdleDays: Int = 0
) -> Handler {
  feedHandler(
    FeedLimits(pushLimit: pushLimit, feedLength: feedLength, evictIdleDays: evictIdleDays))
}

func feedHandler(_ limits: FeedLimits) -> Handler {
  var handler = Handler(name: "fanout", topics: [.posts, .follows, .messages]) { topic, events in
    switch topic {
    case .posts: postWork(events, limits: limits)
    case .follows: followWork(events, limits: limits)
    case .messages: messageWork(events)
    case .likes, .comments, .profiles, .alarmActions, .notificationChanges: Work([])
    }
  }
  handler.backlog = { feedBacklog(limits: limits) }
  handler.recordsMax = [.posts: FeedLimits.eventsMax, .follows: FeedLimits.eventsMax]
  return handler
}

/// Gives people their bigint keys. Sorted, so that two transactions wait for each other's new
/// people in one direction only.
func internUsers(_ ids: Set<BytewiseString>) -> Statement {
  Statement(
    """
    INSERT INTO users (user_id)
    SELECT i.user_id
    FROM unnest($1::text[]) AS i (user_id)
    WHERE NOT EXISTS (SELECT FROM users u WHERE u.user_id = i.user_id)
    ORDER BY i.user_id COLLATE "C"
    ON CONFLICT DO NOTHING
    """, [.textArray(ids.map(\.string))])
}
