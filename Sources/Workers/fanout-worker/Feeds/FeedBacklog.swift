import Handling
import Postgres

/// One piece of background work: restores the feeds of returning readers; if there are none, evicts
/// the feeds of readers who have been away too long; if there are none, trims a few feeds that may
/// have grown too long. Then sweeps some blocks of garbage.
///
/// A piece is bounded in feeds, authors and blocks. It takes some tens of milliseconds, so that
/// under load, with one piece after each poll, it uses a small part of the lane's time.
func feedBacklog(limits: FeedLimits) -> Work {
  let length = Parameter.int8(Int64(limits.feedLength))
  let evictedAtOnce = limits.evictIdleDays > 0 ? limits.evictedAtOnce : 0
  return Work([
    planByKey(keepsPlans: true),
    Statement(
      ReturnSQL.pick,
      [.int8(Int64(limits.returningAtOnce)), .int8(Int64(limits.lockedAtOnce))]),
    Statement(ReturnSQL.lockFollowees),
    Statement(ReturnSQL.lockFeeds),
    Statement(ReturnSQL.confirm),
    Statement(ReturnSQL.clean),
    Statement(ReturnSQL.store, [length]),
    Statement(TrimSQL.evict, [.int8(Int64(limits.evictIdleDays)), .int8(Int64(evictedAtOnce))]),
    Statement(TrimSQL.pick, [.int8(Int64(limits.trimmedAtOnce))]),
    Statement(TrimSQL.raise, [length, .bool(evictedAtOnce > 0)]),
    Statement(SweepSQL.begin),
    Statement(SweepSQL.pick, [.int8(Int64(limits.blocksAtOnce))]),
    Statement(SweepSQL.sweep),
    Statement(SettleSQL.settle),
  ]) { rows in
    let returned = try rows[1].only.int("picked")
    let evicted = try rows[7].only.int("evicted")
    let picked = try rows[8].only.int("picked")
    let swept = rows[12].affectedRows
    return Outcome(
      counts: [
        "returned": returned, "rebuilt": rows[6].affectedRows, "evicted": evicted,
        "trimmed": rows[9].affectedRows, "swept": rows[5].affectedRows + swept,
      ],
      // A sweep that finds little garbage need not hurry.
      hasMore: returned + evicted + picked > 0 || swept > 1000)
  }
}
