public import Events
public import Kinds
public import Postgres
public import Schedules

/// Checks whether reminder-worker could apply an event, as far as the event alone shows: its kinds,
/// its time zone and its recurrence rule. Accepts events of topics that reminder-worker does not
/// consume.
///
/// - Throws: `EventError` if reminder-worker would dead-letter the event; `TryAgain` if time zone data cannot be read.
public func checkForReminders(
  _ event: Event, kinds: AlarmKinds, zones: ZoneDirectory
) throws {
  let surroundings = Surroundings(
    zones: zones, secret: [], bounds: LateBounds(reminderSeconds: 86_400),
    now: event.time.microseconds)
  if let change = try Change(event, kinds: kinds) {
    var reminder = Reminder(user: change.user, id: change.reminder, partition: 0, zone: "")
    try reminder.apply(change, personZone: "", surroundings)
  }
  if let zone = zone(event)?.zone, !zone.isEmpty { _ = try surroundings.zone(zone) }
}

/// Returns one row with one boolean: whether the event's person already has as many reminders and cycles to come as
/// anybody may have, of which the event's is none. Nil if the event sets neither.
///
/// The answer is of a moment: reminder-worker decides when it applies the event.
public func reminderQuotaReached(by event: Event, at now: EventTime) -> Statement? {
  let user: String
  let reminder: String
  switch event.payload {
  case .reminderSet(let data): (user, reminder) = (data.user, data.reminder)
  case .reminderCycleSet(let data): (user, reminder) = (data.user, data.cycle)
  default: return nil
  }
  return Statement(
    """
    SELECT count(*) FILTER (WHERE r.due_at > $3 OR \(isEndless)) >= \(liveRemindersMax)
      AND count(*) FILTER (WHERE r.reminder_id = $2) = 0
    FROM reminders r
    WHERE r.user_id = $1 AND r.due_at IS NOT NULL AND r.reminder_id <> ''
      AND NOT \(isForgottenReminder)
    """, [.text(user), .text(reminder), .timestamptz(now.microseconds)])
}
