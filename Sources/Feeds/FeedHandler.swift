import Events
public import Pipeline
import Postgres

/// The work of fanout-worker: posts, follows and messages into feeds, counts and conversations.
///
/// Each batch becomes a fixed number of set-based statements. What they do is a function of the
/// set of events ever applied, whatever their order, batches and duplicates, also when other
/// transactions run the same statements at the same time. Counts reported: `deliveries` (feed
/// entries of posts), `backfilled` and `pruned` (feed entries of follows and unfollows, and of
/// posts that were edited or deleted).
///
/// - Parameter pushLimit: an author with fewer followers than this has posts delivered into each
///   follower's feed; from here on they are merged when a feed is read.
public func feedHandler(pushLimit: Int = 10_000) -> Handler {
  Handler(name: "fanout", topics: [.posts, .follows, .messages]) { topic, events in
    switch topic {
    case .posts: postWork(events, pushLimit: pushLimit)
    case .follows: followWork(events)
    case .messages: messageWork(events)
    default: Work([])
    }
  }
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
