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

/// Applies posts and their deletions: locks the authors, removes the posts that change their author
/// or their place with their feed entries, edits the others, and stores and delivers what is missing.
/// Throws `BatchTooLarge` if that exceeds the number of deliveries that one transaction may hold, or takes too long.
///
/// - Parameter pace: nil for events that cannot be cut, and are few.
func postWork(_ events: [Event], limits: FeedLimits, pace: DeliveryPace?) -> Work {
  let winners = newest(events) { PostFact($0.payload).map { BytewiseString($0.post) } }
  let facts = winners.compactMap { PostFact($0.payload) }
  let authors = Parameter.textArray(facts.map(\.content.author))
  let posts = Parameter.textArray(facts.map(\.post))
  var (ids, publishers): ([String?], [String?]) = ([], [])
  var firstAt: [BytewiseString: Int64] = [:]
  ids.reserveCapacity(events.count)
  publishers.reserveCapacity(events.count)
  firstAt.reserveCapacity(events.count)
  for event in events {
    guard case .postPublished(let data) = event.payload else {
      ids.append(PostFact(event.payload)?.post)
      publishers.append(nil)
      continue
    }
    ids.append(data.post)
    publishers.append(data.author)
    let post = BytewiseString(data.post)
    firstAt[post] = min(firstAt[post] ?? .max, event.time.microseconds)
  }
  let batch = [
    posts, authors, .boolArray(facts.map(\.isDeleted)),
    .timestamptzArray(facts.map { firstAt[BytewiseString($0.post)] ?? .max }),
    .timestamptzArray(winners.map(\.time.microseconds)), .textArray(winners.map(\.id)),
  ]
  let texts: [Parameter] = [
    .textArray(facts.map(\.content.title)), .textArray(facts.map(\.content.caption)),
    .textArray(facts.map(\.content.imageURL)),
  ]
  let pushLimit = Parameter.int8(Int64(limits.pushLimit))
  let takenBackMax = Parameter.int8(Int64(limits.takenBackMax))

  var work = Work(
    [planByKey(events: events.count)]
      + internUsers(Set(facts.map { BytewiseString($0.content.author) }))
      + [Statement(PostSQL.lockAuthors, [posts, authors])])
  let measured = work.add(
    Statement(
      PostSQL.measure,
      [
        .textArray(ids), .textArray(publishers),
        .timestamptzArray(events.map(\.time.microseconds)), pushLimit,
        .int8(Int64(min(limits.deliveriesMax, pace?.deliveriesMax ?? .max))),
      ]))
  let takenBack = work.add(Statement(PostSQL.takeBack, batch + [takenBackMax]))
  work.add(Statement(PostSQL.edit, batch + texts))
  let published = work.add(
    Statement(
      PostSQL.publish,
      batch + texts
        + [
          .int8Array(facts.map { postKeyHash($0.post) }), pushLimit, .double(limits.trimChance),
        ]))
  let confirmed = work.add(Statement(PostSQL.confirm, batch))
  work.finish = { results in
    let sizes = try results[measured].only.int8Array("sizes").compactMap { $0.map(Int.init) }
    if sizes.count > 1 { throw BatchTooLarge(sizes: sizes) }
    let deliveries = try Deliveries(results[published])
    var outcome = Outcome(counts: [
      "pruned": try results[takenBack].only.int("pruned"), "deliveries": deliveries.count,
      "pulled": try results[confirmed].only.int("pulled"),
    ])
    guard deliveries.count > 0 else { return outcome }
    let writing = pace.map {
      DeliveryPace.Writing(pace: $0, deliveries: deliveries.count, events: events.count)
    }
    outcome.copies = [deliveries.copy(writing)]
    outcome.further = writing.map { writing in
      Work { _ in
        writing.end()
        return Outcome()
      }
    }
    return outcome
  }
  return work
}
