/// The bounds of feeds and of the work that one transaction does for them.
struct FeedLimits {
  /// Posts of an author with this many followers are pulled; below four fifths of it, pushed again.
  var pushLimit = 10_000
  /// Feeds are trimmed to this many newest entries.
  var feedLength = 1_000
  /// Feeds of readers who have been away for this many days are evicted; 0 disables eviction.
  var evictIdleDays = 0
  /// Posts that are older than this many days are not stored in any feed. nil: partitions stay as they are.
  var historyDays: Int? = 32
  /// Whether the tables are a rebuild's: nobody else reads or writes them, and the backlog runs only
  /// while no events are applied.
  var isRebuild = false

  /// The maximum number of posts in one transaction of a lane, and of follows.
  static let postsMax = 1_000
  static let followsMax = 250
  /// The maximum number of deliveries in one transaction, give or take one post's, if they are written fast: see
  /// `DeliveryPace`. Posts beyond it are applied in further transactions.
  var deliveriesMax = 400_000
  /// The maximum number of feed entries that the follows of one transaction write, give or take one
  /// follow's. Feeds that follows would fill beyond it are stored later.
  var entriesMax = 100_000

  /// The number of feeds that one piece of the backlog trims, and of blocks that it sweeps in each
  /// partition, after a transaction of usual size.
  var trimmedAtOnce = 128
  var blocksAtOnce = 4
  /// The number of feeds that one piece restores, and of authors that it locks for that, give or
  /// take one feed's.
  var returningAtOnce = 4
  var lockedAtOnce = 5_000
  /// The feed of somebody who follows more authors is not restored: that would lock all of them at once.
  var followedMax = 50_000
  /// The number of feeds that one piece evicts.
  var evictedAtOnce = 500
  /// The number of an erased person's posts, followers or messages that one piece deletes, and of feed entries.
  var erasedAtOnce = 1_000
  var entriesErasedAtOnce: Int { min(5 * erasedAtOnce, entriesMax) }

  /// The probability that an entry queues its feed for trimming. On average a feed grows by its
  /// length before that, which spreads the cost of finding the n-th newest entry over n deliveries.
  var trimChance: Double { 1 / Double(feedLength) }

  /// The bound for a batch of follows. It grows with the batch; only a rebuild has batches larger
  /// than `followsMax`.
  func entriesMax(events: Int) -> Int { max(entriesMax, entriesMax * events / Self.followsMax) }

  /// The bound for entries that a batch of posts removes. Smaller, because each of them dirties a
  /// page of its own, whereas the sweep removes many entries per page.
  ///
  /// A rebuild leaves all of them to the sweep, because `feed_entries` has no index at first.
  var takenBackMax: Int { isRebuild ? 0 : entriesMax / 5 }
}
