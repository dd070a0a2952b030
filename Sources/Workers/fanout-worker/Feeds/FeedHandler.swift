import Events
public import Handling
import Postgres

/// The work of fanout-worker: applies posts, follows and messages to feeds, counts and
/// conversations.
///
/// Each batch becomes a fixed number of set-based statements. Their result depends only on the set
/// of events ever applied, not on order, batch boundaries or duplicates, even when other
/// transactions run the same statements concurrently. Counts reported: `deliveries` (feed
/// entries of posts), `pulled` (posts merged when feeds are read), `backfilled` and `pruned` (feed
/// entries of follows and unfollows, and of posts that moved or were deleted). The backlog reports
/// `trimmed`, `evicted` and `returned` (feeds), `rebuilt` and `swept` (their entries), and
/// `people_erased`.
///
/// - Parameters:
///   - pushLimit: the posts of an author with fewer followers than this are pushed into each
///     follower's feed. At the limit they are pulled (merged when a feed is read), until the author
///     has fewer than four fifths as many followers.
///   - feedLength: the minimum number of newest entries that a feed stores before it is trimmed; on
///     average it stores up to twice as many. Pages beyond them read the posts of followed authors.
///   - evictIdleDays: readers who have not visited for this many days have no stored feed until
///     they return; 0 disables eviction. Requires that the backend calls `feed_touch`.
///   - historyDays: posts that are older are not stored in any feed. Pages that reach back further read the posts of
///     followed authors.
///   - isRebuild: whether the tables are a rebuild's, which nobody else reads or writes while events are
///     applied. Then the handler has work `ahead`, does not lock feeds, and leaves the entries of replaced
///     and deleted posts to the backlog, so that posts only append to `feed_entries`. Its partitions stay as they
///     are.
public func feedHandler(
  pushLimit: Int = 10_000, feedLength: Int = 1_000, evictIdleDays: Int = 0, historyDays: Int = 32,
  isRebuild: Bool = false
) -> Handler {
  feedHandler(
    FeedLimits(
      pushLimit: pushLimit, feedLength: feedLength, evictIdleDays: evictIdleDays,
      historyDays: isRebuild ? nil : historyDays, isRebuild: isRebuild))
}

func feedHandler(_ limits: FeedLimits) -> Handler {
  let pace = DeliveryPace()
  let partitions = FeedPartitions()
  var handler = Handler(name: "fanout", topics: ConsumerGroup.fanout.topics) { topic, events in
    switch topic {
    case .posts: postWork(events, limits: limits, pace: pace)
    case .follows: followWork(events, limits: limits)
    case .messages: messageWork(events)
    case .erasures: erasuresWork(events, worker: "fanout")
    case .likes, .comments, .profiles, .alarms, .alarmActions, .people, .subscriptions,
      .reminders, .devices, .notificationChanges, .alarmChanges:
      Work([])
    }
  }
  handler.backlog = {
    if let days = limits.historyDays, partitions.areDue() {
      return FeedPartitions.keep(historyDays: days)
    }
    return feedBackground(limits: limits, after: pace)
  }
  handler.sweep = { feedErasure(limits: limits) }
  handler.backlogBesideSweep = { feedBacklog(limits: limits, after: pace) }
  handler.keepsMessagesToErased = true
  if limits.isRebuild {
    handler.ahead = { topic, events in
      topic == .erasures
        ? Work([])
        : Work(internUsers(Set(events.lazy.flatMap(\.people).map { BytewiseString($0) })))
    }
  }
  handler.recordsMax = [.posts: FeedLimits.postsMax, .follows: FeedLimits.followsMax]
  return handler
}

/// Gives new users their bigint keys. Sorted, so that transactions that insert the same users
/// cannot deadlock.
///
/// First keeps the sweeps of erased people among them away, who may have a new life: a sweep deletes what
/// this transaction finds (keys, conversations).
func internUsers(_ ids: Set<BytewiseString>) -> [Statement] {
  let ids = Parameter.textArray(ids.map(\.string))
  return [
    Statement(
      "SELECT FROM fanout_erasures WHERE user_id = ANY ($1::text[]) ORDER BY user_id FOR SHARE",
      [ids]),
    Statement(
      """
      INSERT INTO users (user_id)
      SELECT i.user_id
      FROM unnest($1::text[]) AS i (user_id)
      WHERE NOT EXISTS (SELECT FROM users u WHERE u.user_id = i.user_id)
      ORDER BY i.user_id COLLATE "C"
      ON CONFLICT DO NOTHING
      """, [ids]),
  ]
}
