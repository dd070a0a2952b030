public import AlarmText
import Events
public import Pipeline
import Postgres

/// The alarm-worker's work: notification snapshots and profiles become alarms in their readers'
/// languages; when a person's nickname or locale changes, the backlog renders their alarms again,
/// newest first.
///
/// Safe to run in any number of lanes and processes on the same tables. Once everything has been
/// applied and the backlog is dry, each alarm is what its newest snapshot and the newest profiles
/// render to, whatever came first. Counts reported: `alarms_rendered`, `alarms_retracted`,
/// `alarms_rendered_again` and `profiles`.
///
/// - Parameter engine: the sentences, and the locale of readers whose own is unknown; asked for once
///   a batch, so that others can take their place between two batches.
public func alarmHandler(
  engine: @autoclosure @escaping @Sendable () -> AlarmTextEngine
) -> Handler {
  Handler(
    name: "alarm", topics: [.profiles, .notificationChanges],
    apply: { topic, events in
      switch topic {
      case .profiles: profilesWork(events)
      case .notificationChanges: try snapshotsWork(events, engine: engine())
      case .posts, .follows, .likes, .comments, .messages, .alarmActions: Work([])
      }
    },
    backlog: { renderAgainWork(engine: engine()) })
}

/// The alarm-worker's work with the built-in sentences.
///
/// - Parameter defaultLocale: for readers whose own is unknown or has no sentences, such as `en`.
/// - Throws: `CatalogError` when there are no sentences in that locale.
public func alarmHandler(defaultLocale: String) throws(CatalogError) -> Handler {
  var configuration = AlarmTextEngine.Configuration()
  configuration.defaultLocale = defaultLocale
  let engine = try AlarmTextEngine(configuration: configuration)
  return alarmHandler(engine: engine)
}
