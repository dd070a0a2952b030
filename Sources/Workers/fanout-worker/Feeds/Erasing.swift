import Events
import Handling
import Postgres

/// How fanout-worker forgets a person.
///
/// Posts go before the follows that brought them into feeds, as if the person had deleted them. Follows go
/// before the person's own feed, which nobody writes any more then. The person's key goes last, when no
/// transaction can have found it.
func feedErasure(limits: FeedLimits) -> ErasureSweep {
  ErasureSweep(
    worker: "fanout",
    stages: [
      { posts(of: $0, limits: limits) },
      { followers(of: $0, limits: limits) },
      { followees(of: $0, limits: limits) },
      { laterPosts(of: $0, limits: limits) },
      { messages(of: $0, limits: limits) },
      { feed(of: $0, limits: limits) },
      { person in
        Work([
          planByKey(keepsPlans: true), Statement(ErasingSQL.lockPerson, [.text(person.id)]),
          Statement(ErasingSQL.person, person.parameters),
          Statement(ErasingSQL.visits, [.text(person.id)]),
        ])
      },
    ])
}

extension FeedLimits {
  fileprivate var rows: Parameter { .int8(Int64(erasedAtOnce)) }
  fileprivate var entries: Parameter { .int8(Int64(entriesErasedAtOnce)) }
  /// As many authors or conversations as a batch locks.
  fileprivate var locked: Parameter { .int8(Int64(min(erasedAtOnce, Self.followsMax))) }
}

extension ErasureSweep.Person {
  /// The key of the last person whom the stage has done.
  fileprivate var done: Parameter { .int8(Int64(position) ?? 0) }
}

private func lockingAuthor(_ person: ErasureSweep.Person) -> Work {
  Work([planByKey(keepsPlans: true), Statement(ErasingSQL.lockAuthor, [.text(person.id)])])
}

private func posts(of person: ErasureSweep.Person, limits: FeedLimits) -> Work {
  var work = lockingAuthor(person)
  let posts = work.add(
    Statement(
      ErasingSQL.posts,
      person.parameters + [.text(person.position), limits.rows, limits.entries]))
  let deletions = [ErasingSQL.deletions, ErasingSQL.laterDeletions].map {
    work.add(Statement($0, person.parameters + [limits.rows]))
  }
  work.finish = { results in
    let hasDeleted = try results[posts].only.bool(0)
    return Outcome(hasMore: hasDeleted || deletions.contains { results[$0].affectedRows > 0 })
  }
  return work
}

private func followers(of person: ErasureSweep.Person, limits: FeedLimits) -> Work {
  var work = lockingAuthor(person)
  let erased = work.add(
    Statement(
      ErasingSQL.followers, person.parameters + [person.done, limits.rows, limits.entries]))
  work.finish = { try Outcome(hasMore: $0[erased].only.bool(0)) }
  return work
}

private func followees(of person: ErasureSweep.Person, limits: FeedLimits) -> Work {
  var work = Work([
    planByKey(keepsPlans: true),
    Statement(ErasingSQL.pickFollowees, person.parameters + [limits.locked]),
    Statement(ErasingSQL.lockFollowees),
    Statement(ErasingSQL.closeFeed, [.text(person.id)]),
  ])
  let erased = work.add(Statement(ErasingSQL.followees, person.parameters))
  work.finish = { try Outcome(hasMore: $0[erased].only.bool(0)) }
  return work
}

/// Applies posts that were published before and after the erasure again, so that their newest event decides
/// their place.
private func laterPosts(of person: ErasureSweep.Person, limits: FeedLimits) -> Work {
  var work = lockingAuthor(person)
  let removed = work.add(
    Statement(ErasingSQL.laterPosts, person.parameters + [limits.rows, limits.entries]))
  work.finish = { results in
    let events = try results[removed].map { row in
      let content = try PostPublished.with {
        $0.post = try row.text("post_id")
        $0.author = person.id
        $0.title = try row.text("title")
        $0.caption = try row.text("caption")
        $0.imageURL = try row.text("image_url")
      }
      return Event(
        id: try row.text("version_id"), source: "",
        time: EventTime(microseconds: try row.timestamptz("version_time")),
        payload: .postPublished(content))
    }
    guard !events.isEmpty else { return Outcome() }
    return Outcome(hasMore: true, further: postWork(events, limits: limits, pace: nil))
  }
  return work
}

/// Deletes what the person sent and read in some conversations. What others sent goes to the former person, as
/// if it had arrived after the erasure.
private func messages(of person: ErasureSweep.Person, limits: FeedLimits) -> Work {
  var work = Work([planByKey(keepsPlans: true)])
  let picked = work.add(
    Statement(
      ErasingSQL.pickMessages,
      person.parameters + [person.done, limits.locked, limits.rows]))
  work.finish = { results in
    let row = try results[picked].only
    let peers = try row.textArray("peers").compactMap(\.self)
    guard !peers.isEmpty else { return Outcome() }
    let messages = try row.textArray("messages")
    let senders = try row.textArray("senders").compactMap(\.self)
    let former = senders.map { _ in person.formerID }
    var rest = Work(senders.isEmpty ? [] : internUsers([BytewiseString(person.formerID)]))
    rest.add(
      Statement(
        MessageSQL.lockConversations,
        [
          .textArray(messages), .textArray(peers.map { _ in person.id } + former),
          .textArray(peers + senders),
        ]))
    rest.add(Statement(MessageSQL.ensureOtherSides))
    rest.add(
      Statement(
        ErasingSQL.messages, person.parameters + [.textArray(messages), .text(person.formerID)]))
    rest.add(Statement(MessageSQL.refreshConversations))
    rest.add(Statement(ErasingSQL.conversations, person.parameters + [.textArray(peers)]))
    // Otherwise some of these conversations may have more messages.
    if messages.count < limits.erasedAtOnce {
      rest.add(person.moved(to: try row.text("last")))
    }
    return Outcome(hasMore: true, further: rest)
  }
  return work
}

private func feed(of person: ErasureSweep.Person, limits: FeedLimits) -> Work {
  var work = Work([
    planByKey(keepsPlans: true), Statement(ErasingSQL.lockFeed, [.text(person.id)]),
    Statement(ErasingSQL.entries, [.text(person.id), limits.entries]),
    Statement(ErasingSQL.queues, [.text(person.id)]),
  ])
  let rest = work.add(Statement(ErasingSQL.hasRest, [.text(person.id)]))
  work.finish = { try Outcome(hasMore: $0[rest].only.bool(0)) }
  return work
}
