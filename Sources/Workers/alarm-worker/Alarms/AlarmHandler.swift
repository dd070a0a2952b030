public import AlarmText
import Events
public import Handling
import Postgres

/// The work of alarm-worker: notification snapshots and profiles become alarms in their readers'
/// languages. When a nickname or locale changes, the backlog renders the affected alarms again,
/// newest first.
///
/// Safe to run in any number of lanes and processes on the same tables. Once everything has been
/// applied and the backlog is empty, each alarm is the rendering of its newest snapshot with the
/// newest profiles, whatever the order of arrival. Counts reported: `alarms_rendered`,
/// `alarms_retracted`, `alarms_rendered_again`, `alarms_of_unknown_kinds` (which keep their text) and `profiles`.
///
/// Publishes every alarm that it writes, as `alarm.changed` or `alarm.retracted`.
///
/// - Parameters:
///   - engine: the catalogs, and the default locale for readers whose locale is unknown.
///     Evaluated once per batch, so that catalogs can be replaced between two batches.
///   - isPublishing: false for tables that nobody reads yet. Their alarms have version 0.
public func alarmHandler(
  engine: @autoclosure @escaping @Sendable () -> AlarmTextEngine, isPublishing: Bool = true
) -> Handler {
  var handler = Handler(
    name: "alarm", topics: ConsumerGroup.alarm.topics,
    apply: { topic, events in
      switch topic {
      case .profiles: profilesWork(events)
      case .erasures: erasuresWork(events, worker: "alarm")
      case .notificationChanges:
        try snapshotsWork(events, engine: engine(), isPublishing: isPublishing)
      case .posts, .follows, .likes, .comments, .messages, .alarms, .alarmActions, .people,
        .subscriptions, .reminders, .devices, .alarmChanges:
        Work([])
      }
    },
    backlog: {
      alarmBacklog(renderings: renderAgainWork(engine: engine(), isPublishing: isPublishing))
    })
  handler.sweep = { alarmErasures }
  handler.backlogBesideSweep = { renderAgainWork(engine: engine(), isPublishing: isPublishing) }
  handler.afterErased = { topic, events in
    guard topic == .notificationChanges else { return Work([]) }
    return try erasedSnapshotsWork(events, engine: engine(), isPublishing: isPublishing)
  }
  handler.versionSequence = isPublishing ? "alarm_versions" : nil
  return handler
}

/// The work of alarm-worker with the built-in catalogs.
///
/// - Parameter defaultLocale: for readers whose locale is unknown or has no catalog, such as `en`.
/// - Throws: `CatalogError` if there is no catalog for that locale.
public func alarmHandler(defaultLocale: String) throws(CatalogError) -> Handler {
  var configuration = AlarmTextEngine.Configuration()
  configuration.defaultLocale = defaultLocale
  let engine = try AlarmTextEngine(configuration: configuration)
  return alarmHandler(engine: engine)
}
