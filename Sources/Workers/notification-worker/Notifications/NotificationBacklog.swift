import Handling

/// The worker's work between batches: a bounded piece of each kind, in one transaction.
///
/// The check of contributions waits for locks, so it comes first. The other kinds skip recipients
/// that another transaction has locked, so they cannot deadlock whatever locks they hold.
func notificationBacklog() -> Work {
  Work(joining: [
    Work([planByKey(keepsPlans: true)]), checkWork(), sweepWork(), reviewWork(),
    subscribersWork(),
  ])
}
