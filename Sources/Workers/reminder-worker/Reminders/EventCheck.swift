public import Events
public import Kinds
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
