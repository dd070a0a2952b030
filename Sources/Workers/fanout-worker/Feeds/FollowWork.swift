import Events
import Handling
import Postgres

/// A follow or unfollow of one pair of users; their ids are compared byte by byte.
private struct Follow: Hashable {
  var followee: BytewiseString
  var follower: BytewiseString
  var isActive: Bool

  init?(_ payload: Payload) {
    switch payload {
    case .followCreated(let data):
      (followee, follower, isActive) = (.init(data.followee), .init(data.follower), true)
    case .followRemoved(let data):
      (followee, follower, isActive) = (.init(data.followee), .init(data.follower), false)
    default: return nil
    }
  }

  var people: [BytewiseString] { [followee, follower] }
}

/// Applies follows and unfollows: locks the followees, stores the newest version of each follow,
/// adjusts the counts of those whose state changed, and backfills or prunes the followers' feeds.
func followWork(_ events: [Event], limits: FeedLimits) -> Work {
  let winners = newest(events) { Follow($0.payload)?.people }
  let follows = winners.compactMap { Follow($0.payload) }
  let followees = Parameter.textArray(follows.map(\.followee.string))

  var work = Work(
    [planByKey(keepsPlans: false)]
      + internUsers(Set(follows.flatMap(\.people)))
      + [Statement(FollowSQL.lockFollowees, [followees])])
  // Nothing restores feeds while a rebuild applies follows.
  if !limits.isRebuild {
    work.add(
      Statement(
        FollowSQL.lockFeeds,
        [.textArray(Set(follows.filter(\.isActive).map(\.follower)).map(\.string))]))
  }
  let applied = work.add(
    Statement(
      FollowSQL.apply,
      [
        followees, .textArray(follows.map(\.follower.string)),
        .boolArray(follows.map(\.isActive)),
        .timestamptzArray(winners.map(\.time.microseconds)), .textArray(winners.map(\.id)),
        .int8(Int64(limits.feedLength)), .int8(Int64(limits.entriesMax(events: winners.count))),
        .double(limits.trimChance),
      ]))
  work.finish = { results in
    let counts = try results[applied].only
    return Outcome(counts: [
      "backfilled": try counts.int("backfilled"), "pruned": try counts.int("pruned"),
    ])
  }
  return work
}
