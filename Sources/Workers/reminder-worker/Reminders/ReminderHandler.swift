public import Events
public import Handling
public import Kinds
public import Schedules

/// The work of reminder-worker: stores reminders, cycles and digests, and turns due occurrences
/// into `alarm.raised` events.
///
/// Each occurrence rings once, whatever crashes: the decision to ring is committed under the
/// occurrence's name, its local date and time, before it is published, and publishing again
/// produces the same event. Counts reported: `reminders`, `reminders_moved`, `reminders_rung`,
/// `reminders_withdrawn` and `reminders_missed`.
///
/// - Parameters:
///   - kinds: the registry. Evaluated once per batch.
///   - zones: the installed time zones.
///   - secret: the secret of the cycles' random moments. All workers must use the same one; another
///     secret gives other moments.
///   - lateBoundSeconds: a reminder that has been due for longer than this is missed.
///   - isRinging: false while a rebuild fills tables that nobody reads yet: nothing rings.
///   - clock: returns the current time.
public func reminderHandler(
  kinds: @autoclosure @escaping @Sendable () -> AlarmKinds = .builtIn,
  zones: ZoneDirectory, secret: [UInt8], lateBoundSeconds: Int = 86_400, isRinging: Bool = true,
  clock: @escaping @Sendable () -> EventTime = { .now }
) -> Handler {
  @Sendable func surroundings() -> Surroundings {
    Surroundings(
      zones: zones, secret: secret, bounds: LateBounds(reminderSeconds: Int64(lateBoundSeconds)),
      now: clock().microseconds)
  }
  var handler = Handler(
    name: "reminder", topics: ConsumerGroup.reminder.topics,
    apply: { topic, events in
      switch topic {
      case .reminders:
        try remindersWork(events, kinds: kinds(), surroundings(), isRinging: isRinging)
      case .erasures: erasuresWork(events, worker: "reminder")
      case .profiles: try zonesWork(events, surroundings(), isRinging: isRinging)
      case .posts, .follows, .likes, .comments, .messages, .alarms, .alarmActions, .people,
        .subscriptions, .devices, .notificationChanges, .alarmChanges:
        Work([])
      }
    }, backlog: { erasing(surroundings()).backlog() })
  handler.sweep = { erasing(surroundings()) }
  // Whoever is erased is not reminded any more.
  handler.dueAfter = [.erasures]
  guard isRinging else { return handler }
  handler.due = { dueWork($0, surroundings()) }
  handler.overdue = { overdueReminders(at: clock().microseconds - 60_000_000) }
  return handler
}
