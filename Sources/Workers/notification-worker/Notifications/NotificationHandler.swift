import Events
public import Handling
public import Kinds

/// The work of notification-worker: likes, comments, follows, messages, mentions, posts of authors
/// with subscribers, and raised alarms become notifications; alarm actions read, delete and mute
/// them; each notification that a batch touches is published as a snapshot.
///
/// Safe to run in any number of lanes and processes on the same tables: the resulting rows depend
/// only on the set of events applied, not on their order, batch boundaries or duplicates, except what a
/// withdrawn mention's row says besides when it began.
///
/// - Parameter kinds: the registry. Evaluated once per batch, so that it can be replaced between two
///   batches.
public func notificationHandler(
  kinds: @autoclosure @escaping @Sendable () -> AlarmKinds = .builtIn
) -> Handler {
  var handler = Handler(
    name: "notification",
    topics: ConsumerGroup.notification.topics,
    apply: { topic, events in
      switch topic {
      case .likes: likesWork(events)
      case .comments: try commentsWork(events)
      case .follows: followsWork(events)
      case .messages: messagesWork(events)
      case .subscriptions: subscriptionsWork(events)
      case .posts: try postsWork(events)
      case .alarms: try raisedWork(events, kinds: kinds())
      case .alarmActions: try alarmActionsWork(events, kinds: kinds())
      case .people: try peopleWork(events)
      case .erasures: erasuresWork(events, worker: "notification")
      case .profiles, .reminders, .devices, .notificationChanges, .alarmChanges: Work([])
      }
    }, backlog: notificationBacklog)
  handler.sweep = { notificationErasures }
  handler.backlogBesideSweep = notificationBacklogBesideSweep
  handler.versionSequence = "notification_counter"
  handler.afterErased = { _, events in afterErasedWork(events, kinds: kinds()) }
  return handler
}
