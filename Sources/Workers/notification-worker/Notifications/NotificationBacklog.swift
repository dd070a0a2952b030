import Handling

/// The worker's work between batches: a bounded piece of each kind, in one transaction.
///
/// A piece of a sweep and the check of contributions wait for locks, so they come first, and a sweep waits for
/// the end of the check. The other kinds skip recipients that another transaction has locked, so they cannot
/// deadlock whatever locks they hold.
func notificationBacklog() -> Work {
  var work = notificationErasures.backlog()
  let finish = work.finish
  work.finish = { results in
    var outcome = try finish(results)
    outcome.add(further: notificationBacklogBesideSweep())
    return outcome
  }
  return work
}

func notificationBacklogBesideSweep() -> Work {
  Work(joining: [
    Work([planByKey(keepsPlans: true)]), checkWork(), sweepWork(), reviewWork(), subscribersWork(),
  ])
}
