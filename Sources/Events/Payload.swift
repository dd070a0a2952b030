/// An event's data, one case per ``EventType``. The messages are generated from
/// `proto/magpie/v1/events.proto`.
public enum Payload: Sendable {
  case postPublished(PostPublished)
  case postDeleted(PostDeleted)
  case followCreated(FollowCreated)
  case followRemoved(FollowRemoved)
  case likeCreated(LikeCreated)
  case likeRemoved(LikeRemoved)
  case commentCreated(CommentCreated)
  case commentRemoved(CommentRemoved)
  case messageSent(MessageSent)
  case conversationRead(ConversationRead)
  case profileChanged(ProfileChanged)
  case profileEdited(ProfileEdited)
  case alarmRead(AlarmRead)
  case alarmReadAll(AlarmReadAll)
  case alarmDeleted(AlarmDeleted)
  case alarmAllDeleted(AlarmAllDeleted)
  case alarmSeen(AlarmSeen)
  case alarmMuted(AlarmMuted)
  case alarmUnmuted(AlarmUnmuted)
  case alarmDisabled(AlarmDisabled)
  case alarmEnabled(AlarmEnabled)
  case personBlocked(PersonBlocked)
  case personUnblocked(PersonUnblocked)
  case personMuted(PersonMuted)
  case personUnmuted(PersonUnmuted)
  case alarmRaised(AlarmRaised)
  case alarmWithdrawn(AlarmWithdrawn)
  case authorSubscribed(AuthorSubscribed)
  case authorUnsubscribed(AuthorUnsubscribed)
  case reminderSet(ReminderSet)
  case reminderCycleSet(ReminderCycleSet)
  case reminderCancelled(ReminderCancelled)
  case digestSet(DigestSet)
  case deviceRegistered(DeviceRegistered)
  case deviceRemoved(DeviceRemoved)
  case pushPreferences(PushPreferences)
  case userErased(UserErased)
  case notificationChanged(NotificationChanged)
  case notificationRetracted(NotificationRetracted)
  case alarmChanged(AlarmChanged)
  case alarmRetracted(AlarmRetracted)

  public var type: EventType {
    switch self {
    case .postPublished: .postPublished
    case .postDeleted: .postDeleted
    case .followCreated: .followCreated
    case .followRemoved: .followRemoved
    case .likeCreated: .likeCreated
    case .likeRemoved: .likeRemoved
    case .commentCreated: .commentCreated
    case .commentRemoved: .commentRemoved
    case .messageSent: .messageSent
    case .conversationRead: .conversationRead
    case .profileChanged: .profileChanged
    case .profileEdited: .profileEdited
    case .alarmRead: .alarmRead
    case .alarmReadAll: .alarmReadAll
    case .alarmDeleted: .alarmDeleted
    case .alarmAllDeleted: .alarmAllDeleted
    case .alarmSeen: .alarmSeen
    case .alarmMuted: .alarmMuted
    case .alarmUnmuted: .alarmUnmuted
    case .alarmDisabled: .alarmDisabled
    case .alarmEnabled: .alarmEnabled
    case .personBlocked: .personBlocked
    case .personUnblocked: .personUnblocked
    case .personMuted: .personMuted
    case .personUnmuted: .personUnmuted
    case .alarmRaised: .alarmRaised
    case .alarmWithdrawn: .alarmWithdrawn
    case .authorSubscribed: .authorSubscribed
    case .authorUnsubscribed: .authorUnsubscribed
    case .reminderSet: .reminderSet
    case .reminderCycleSet: .reminderCycleSet
    case .reminderCancelled: .reminderCancelled
    case .digestSet: .digestSet
    case .deviceRegistered: .deviceRegistered
    case .deviceRemoved: .deviceRemoved
    case .pushPreferences: .pushPreferences
    case .userErased: .userErased
    case .notificationChanged: .notificationChanged
    case .notificationRetracted: .notificationRetracted
    case .alarmChanged: .alarmChanged
    case .alarmRetracted: .alarmRetracted
    }
  }

  /// The person affected: the partitioning key of the event's topic.
  public var key: String {
    switch self {
    case .postPublished(let data): data.author
    case .postDeleted(let data): data.author
    case .followCreated(let data): data.followee
    case .followRemoved(let data): data.followee
    case .likeCreated(let data): data.postOwner
    case .likeRemoved(let data): data.postOwner
    case .commentCreated(let data): data.postOwner
    case .commentRemoved(let data): data.postOwner
    case .messageSent(let data): data.receiver
    case .conversationRead(let data): data.user
    case .profileChanged(let data): data.user
    case .profileEdited(let data): data.user
    case .alarmRead(let data): data.user
    case .alarmReadAll(let data): data.user
    case .alarmDeleted(let data): data.user
    case .alarmAllDeleted(let data): data.user
    case .alarmSeen(let data): data.user
    case .alarmMuted(let data): data.user
    case .alarmUnmuted(let data): data.user
    case .alarmDisabled(let data): data.user
    case .alarmEnabled(let data): data.user
    case .personBlocked(let data): data.user
    case .personUnblocked(let data): data.user
    case .personMuted(let data): data.user
    case .personUnmuted(let data): data.user
    case .alarmRaised(let data): data.recipient
    case .alarmWithdrawn(let data): data.recipient
    case .authorSubscribed(let data): data.author
    case .authorUnsubscribed(let data): data.author
    case .reminderSet(let data): data.user
    case .reminderCycleSet(let data): data.user
    case .reminderCancelled(let data): data.user
    case .digestSet(let data): data.user
    case .deviceRegistered(let data): data.user
    case .deviceRemoved(let data): data.user
    case .pushPreferences(let data): data.user
    case .userErased(let data): data.user
    case .notificationChanged(let data): data.recipient
    case .notificationRetracted(let data): data.recipient
    case .alarmChanged(let data): data.recipient
    case .alarmRetracted(let data): data.recipient
    }
  }
}
