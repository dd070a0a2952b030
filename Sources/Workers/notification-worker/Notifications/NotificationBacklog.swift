import Handling

/// The worker's work between batches: a bounded piece of each kind, in one transaction.
///
/// The check of contributions waits for locks, so it comes first. The other kinds skip recipients
/// that another transaction has locked, so they cannot deadlock whatever locks they hold.
func notificationBacklog() -> Work {
  inOneTransaction([Work([planByKey(keepsPlans: true)]), checkWork(), sweepWork(), reviewWork()])
}

/// Concatenates several kinds of work into one round trip.
private func inOneTransaction(_ parts: [Work]) -> Work {
  Work(parts.flatMap(\.statements)) { results in
    var results = results[...]
    var total = Outcome()
    for part in parts {
      let outcome = try part.finish(Array(results.prefix(part.statements.count)))
      results = results.dropFirst(part.statements.count)
      total.statements += outcome.statements
      total.copies += outcome.copies
      total.events += outcome.events
      total.counts.merge(outcome.counts, uniquingKeysWith: +)
      total.hasMore = total.hasMore || outcome.hasMore
    }
    return total
  }
}
