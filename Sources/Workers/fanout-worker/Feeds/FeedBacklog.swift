import Handling
import Postgres

/// One piece of the sweep of erased people, or of the feeds' background work: both lock people first.
func feedBackground(limits: FeedLimits, after pace: DeliveryPace) -> Work {
  feedErasure(limits: limits).backlog(or: feedBacklog(limits: limits, after: pace))
}

/// One piece of background work: restores the feeds of returning readers; if there are none, evicts
/// the feeds of readers who have been away too long; if there are none, trims a few feeds that may
/// have grown too long. Then sweeps some blocks of garbage. While feeds wait for trimming, chance decides
/// whether a piece begins with that, so that they do not wait until nobody returns or is evicted.
///
/// A piece is bounded in feeds, authors and blocks. It takes some tens of milliseconds, so that
/// under load, with one piece after each transaction, it uses a small part of the lane's time. After a
/// large transaction it trims and sweeps more, so that it keeps up.
func feedBacklog(limits: FeedLimits, after pace: DeliveryPace) -> Work {
  let length = Parameter.int8(Int64(limits.feedLength))
  let evictedAtOnce = limits.evictIdleDays > 0 ? limits.evictedAtOnce : 0
  var work = Work([planByKey(keepsPlans: true)])
  let returning = work.add(
    Statement(
      ReturnSQL.pick,
      [
        .int8(Int64(limits.returningAtOnce)), .int8(Int64(limits.lockedAtOnce)),
        .int8(Int64(limits.followedMax)), .bool(Bool.random()),
      ]))
  work.add(Statement(ReturnSQL.lockFollowees))
  work.add(Statement(ReturnSQL.lockFeeds))
  work.add(Statement(ReturnSQL.confirm))
  let cleaning = work.add(Statement(ReturnSQL.clean))
  let rebuilding = work.add(Statement(ReturnSQL.store, [length]))
  let evicting = work.add(
    Statement(TrimSQL.evict, [.int8(Int64(limits.evictIdleDays)), .int8(Int64(evictedAtOnce))]))
  let trimming = work.add(
    Statement(TrimSQL.pick, [.int8(Int64(limits.trimmedAtOnce * pace.backlogShare))]))
  let raising = work.add(Statement(TrimSQL.raise, [length, .bool(evictedAtOnce > 0)]))
  work.add(Statement(SweepSQL.begin))
  work.add(Statement(SweepSQL.pick, [.int8(Int64(limits.blocksAtOnce * pace.backlogShare))]))
  let sweeping = work.add(Statement(SweepSQL.sweep))
  work.add(Statement(SweepSQL.forget, [.int8(Int64(limits.evictedAtOnce))]))
  work.add(Statement(SettleSQL.settle))
  work.finish = { results in
    let returned = try results[returning].only.int("picked")
    let evicted = try results[evicting].only.int("evicted")
    let picked = try results[trimming].only.int("picked")
    let swept = results[sweeping].affectedRows
    return Outcome(
      counts: [
        "returned": returned, "rebuilt": results[rebuilding].affectedRows, "evicted": evicted,
        "trimmed": results[raising].affectedRows,
        "swept": results[cleaning].affectedRows + swept,
      ],
      // A sweep that finds little garbage need not hurry.
      hasMore: returned + evicted + picked > 0 || swept > 1000)
  }
  return work
}
