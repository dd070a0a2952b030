import Events
import Handling
import Postgres

/// The state of a post after its newest event: published with this content, or deleted.
private struct PostFact {
  var post: String
  var content: PostPublished
  var isDeleted: Bool

  init?(_ payload: Payload) {
    switch payload {
    case .postPublished(let data): (post, content, isDeleted) = (data.post, data, false)
    case .postDeleted(let data):
      (post, content, isDeleted) = (data.post, PostPublished(), true)
      content.author = data.author
    default: return nil
    }
  }
}

/// Applies posts and their deletions: locks the authors, removes the old version of each post and
/// its feed entries, stores the new version and delivers it. Throws `BatchTooLarge` if that exceeds
/// the number of entries that one transaction may write.
func postWork(_ events: [Event], limits: FeedLimits) -> Work {
  let winners = newest(events) { PostFact($0.payload).map { BytewiseString($0.post) } }
  let facts = winners.compactMap { PostFact($0.payload) }
  let posts = Parameter.textArray(facts.map(\.post))
  let authors = facts.map(\.content.author)
  let times = Parameter.timestamptzArray(winners.map(\.time.microseconds))
  let versions = Parameter.textArray(winners.map(\.id))
  let keys = zip(winners, facts).map { event, fact -> Int64? in
    fact.isDeleted ? nil : postKey(time: event.time, post: fact.post)
  }
  let pushLimit = Parameter.int8(Int64(limits.pushLimit))
  let publishers = events.map { event -> String? in
    if case .postPublished(let data) = event.payload { data.author } else { nil }
  }
  let takenBackMax = Parameter.int8(Int64(limits.takenBackMax(events: winners.count)))

  var work = Work([
    planByKey(keepsPlans: false),
    internUsers(Set(authors.map { BytewiseString($0) })),
    Statement(PostSQL.lockAuthors, [posts, .textArray(authors)]),
  ])
  let measured = work.add(
    Statement(
      PostSQL.measure,
      [.textArray(publishers), pushLimit, .int8(Int64(limits.entriesMax))]))
  let takenBack = work.add(Statement(PostSQL.takeBack, [posts, times, versions, takenBackMax]))
  let published = work.add(
    Statement(
      PostSQL.publish,
      [
        posts, .textArray(authors), .int8Array(keys), .textArray(facts.map(\.content.title)),
        .textArray(facts.map(\.content.caption)), .textArray(facts.map(\.content.imageURL)),
        times, versions, pushLimit, .double(limits.trimChance),
      ]))
  let confirmed = work.add(Statement(PostSQL.confirm, [posts, times, versions]))
  work.finish = { results in
    let sizes = try results[measured].only.int8Array("sizes").compactMap { $0.map(Int.init) }
    if sizes.count > 1 { throw BatchTooLarge(sizes: sizes) }
    let deliveries = try Deliveries(results[published])
    return Outcome(
      copies: deliveries.count == 0 ? [] : [deliveries.copy],
      counts: [
        "pruned": results[takenBack].affectedRows, "deliveries": deliveries.count,
        "pulled": try results[confirmed].only.int("pulled"),
      ])
  }
  return work
}
