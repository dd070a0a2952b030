import Events
public import Handling

/// The work of notification-worker: likes, comments, follows, messages and mentions become
/// notifications; alarm actions read, delete and mute them; each notification that a batch touches
/// is published as a snapshot.
///
/// Safe to run in any number of lanes and processes on the same tables: the resulting rows depend
/// only on the set of events applied, not on their order, batch boundaries or duplicates.
public let notificationHandler = Handler(
  name: "notification",
  topics: [.likes, .comments, .follows, .messages, .posts, .alarmActions],
  apply: { topic, events in
    switch topic {
    case .likes: likesWork(events)
    case .comments: commentsWork(events)
    case .follows: followsWork(events)
    case .messages: messagesWork(events)
    case .posts: postsWork(events)
    case .alarmActions: try alarmActionsWork(events)
    case .profiles, .notificationChanges: Work([])
    }
  }, backlog: notificationBacklog)
