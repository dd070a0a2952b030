public import Events
public import Kinds
public import Schedules

/// Whether reminder-worker can apply an event, as far as the event alone tells: its kinds, its time zone and
/// its rule. Events of topics that it does not consume pass.
///
/// - Throws: `EventError` for what would make the event a dead letter.
public func checkForReminders(
  _ event: Event, kinds: AlarmKinds, zones: ZoneDirectory
) throws(EventError) {
  let surroundings = Surroundings(
    zones: zones, secret: [], bounds: LateBounds(reminderSeconds: 86_400),
    now: event.time.microseconds)
  if let change = try Change(event, kinds: kinds) {
    var reminder = Reminder(user: change.user, id: change.reminder, partition: 0, zone: "")
    try reminder.apply(change, personZone: "", surroundings)
  }
  if let zone = zone(event)?.zone, !zone.isEmpty { _ = try surroundings.zone(zone) }
}
