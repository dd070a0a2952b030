public import Events
public import Handling
public import Kinds
public import Schedules

/// The work of reminder-worker: stores what people asked to be reminded of, and turns what is due into
/// `alarm.raised`.
///
/// Each occurrence rings once, whatever crashed: it is decided and committed, under its local date and time as
/// its name, before it is published, and publishing it again publishes the same event. Counts reported:
/// `reminders`, `reminders_moved`, `reminders_rung`, `reminders_withdrawn` and `reminders_missed`.
///
/// - Parameters:
///   - kinds: the registry. Evaluated once per batch.
///   - zones: the time zones.
///   - secret: the key of random moments. The same for all workers; with another one, cycles ring at other
///     moments.
///   - lateBoundSeconds: a reminder that was due for longer does not ring any more.
///   - isRinging: false for tables that nobody reads yet.
///   - clock: the time.
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
    name: "reminder", topics: [.reminders, .profiles],
    apply: { topic, events in
      switch topic {
      case .reminders:
        try remindersWork(events, kinds: kinds(), surroundings(), isRinging: isRinging)
      case .profiles: try zonesWork(events, surroundings(), isRinging: isRinging)
      case .posts, .follows, .likes, .comments, .messages, .alarms, .alarmActions, .people,
        .subscriptions, .devices, .notificationChanges, .alarmChanges:
        Work([])
      }
    })
  guard isRinging else { return handler }
  handler.due = { dueWork($0, surroundings()) }
  handler.overdue = { overdueReminders(at: clock().microseconds - 60_000_000) }
  return handler
}
