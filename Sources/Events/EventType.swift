/// The type of an event: the value of `ce_type`.
public enum EventType: String, CaseIterable, Sendable {
  case postPublished = "magpie.post.published.v1"
  case postDeleted = "magpie.post.deleted.v1"
  case followCreated = "magpie.follow.created.v1"
  case followRemoved = "magpie.follow.removed.v1"
  case likeCreated = "magpie.like.created.v1"
  case likeRemoved = "magpie.like.removed.v1"
  case commentCreated = "magpie.comment.created.v1"
  case commentRemoved = "magpie.comment.removed.v1"
  case messageSent = "magpie.message.sent.v1"
  case conversationRead = "magpie.conversation.read.v1"
  case profileChanged = "magpie.profile.changed.v1"
  case profileEdited = "magpie.profile.edited.v1"
  case alarmRead = "magpie.alarm.read.v1"
  case alarmReadAll = "magpie.alarm.read-all.v1"
  case alarmDeleted = "magpie.alarm.deleted.v1"
  case alarmAllDeleted = "magpie.alarm.all-deleted.v1"
  case alarmSeen = "magpie.alarm.seen.v1"
  case alarmMuted = "magpie.alarm.muted.v1"
  case alarmUnmuted = "magpie.alarm.unmuted.v1"
  case alarmDisabled = "magpie.alarm.disabled.v1"
  case alarmEnabled = "magpie.alarm.enabled.v1"
  case personBlocked = "magpie.person.blocked.v1"
  case personUnblocked = "magpie.person.unblocked.v1"
  case personMuted = "magpie.person.muted.v1"
  case personUnmuted = "magpie.person.unmuted.v1"
  case alarmRaised = "magpie.alarm.raised.v1"
  case alarmWithdrawn = "magpie.alarm.withdrawn.v1"
  case authorSubscribed = "magpie.author.subscribed.v1"
  case authorUnsubscribed = "magpie.author.unsubscribed.v1"
  case reminderSet = "magpie.reminder.set.v1"
  case reminderCycleSet = "magpie.reminder.cycle-set.v1"
  case reminderCancelled = "magpie.reminder.cancelled.v1"
  case digestSet = "magpie.digest.set.v1"
  case deviceRegistered = "magpie.device.registered.v1"
  case deviceRemoved = "magpie.device.removed.v1"
  case pushPreferences = "magpie.push.preferences.v1"
  case userErased = "magpie.user.erased.v1"
  case notificationChanged = "magpie.notification.changed.v1"
  case notificationRetracted = "magpie.notification.retracted.v1"
  case alarmChanged = "magpie.alarm.changed.v1"
  case alarmRetracted = "magpie.alarm.retracted.v1"

  /// The only topic on which events of this type are accepted.
  public var topic: Topic {
    switch self {
    case .postPublished, .postDeleted: .posts
    case .followCreated, .followRemoved: .follows
    case .likeCreated, .likeRemoved: .likes
    case .commentCreated, .commentRemoved: .comments
    case .messageSent, .conversationRead: .messages
    case .profileChanged, .profileEdited: .profiles
    case .alarmRead, .alarmReadAll, .alarmDeleted, .alarmAllDeleted, .alarmSeen, .alarmMuted,
      .alarmUnmuted, .alarmDisabled, .alarmEnabled:
      .alarmActions
    case .personBlocked, .personUnblocked, .personMuted, .personUnmuted: .people
    case .alarmRaised, .alarmWithdrawn: .alarms
    case .authorSubscribed, .authorUnsubscribed: .subscriptions
    case .reminderSet, .reminderCycleSet, .reminderCancelled, .digestSet: .reminders
    case .deviceRegistered, .deviceRemoved, .pushPreferences: .devices
    case .userErased: .erasures
    case .notificationChanged, .notificationRetracted: .notificationChanges
    case .alarmChanged, .alarmRetracted: .alarmChanges
    }
  }
}
