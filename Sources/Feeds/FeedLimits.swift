/// What bounds feeds, and the work that one transaction does for them.
struct FeedLimits {
  /// An author with as many followers has posts pulled; below four fifths of it, pushed again.
  var pushLimit = 10_000
  /// Feeds are trimmed to their newest entries, so many of them.
  var feedLength = 1_000
  /// People who were away for so many days have their feed evicted; 0: nobody.
  var evictIdleDays = 0

  /// Posts or follows in one transaction of a lane.
  static let eventsMax = 250
  /// Feed entries that a transaction writes at most, give or take one event's: a third of a second's
  /// work. Posts beyond it are applied in further transactions; feeds that follows would fill beyond it
  /// are stored later.
  var entriesMax = 100_000

  /// Feeds that one piece of the backlog trims, and blocks of each partition that it sweeps.
  var trimmedAtOnce = 128
  var blocksAtOnce = 4
  /// Feeds that one piece stores again, and authors whom it locks for that, give or take one feed's.
  var returningAtOnce = 4
  var lockedAtOnce = 5_000
  /// People whose feeds one piece evicts.
  var evictedAtOnce = 500

  /// An entry's chance to have its feed trimmed: on average a feed grows by its length before that,
  /// which spreads the cost of finding the n-th newest entry over n deliveries.
  var trimChance: Double { 1 / Double(feedLength) }

  /// The bound for a batch of follows: more for larger ones, which only a rebuild has.
  func entriesMax(events: Int) -> Int { max(entriesMax, entriesMax * events / Self.eventsMax) }

  /// The same for entries that a batch of posts takes back. Fewer, because each is a page of its own to write, and because
  /// what stays is swept many to a page.
  func takenBackMax(events: Int) -> Int { entriesMax(events: events) / 5 }
}
