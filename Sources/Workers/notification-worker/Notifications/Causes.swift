import Events

/// The cause of a notification's change: the newest of the batch's events that touch it.
struct Cause: Equatable {
  var time: EventTime
  /// The trace of the last of those events, in log order, that is part of a trace.
  var trace: TraceContext?
}

/// Which events of a batch touch which notification.
///
/// Only provides the time and the trace of a change; the recomputed content does not depend on it.
/// So it does not distinguish contributions of one person to the same subject by day.
struct Causes {
  private var causes: [Key: Cause] = [:]
  /// The time of changes that none of the keys explains.
  private var newest: EventTime

  /// - Parameter otherwise: the time of a change that none of the events explains, unless one of
  ///   them is later.
  init(_ events: [Event], otherwise: EventTime = Limits.earliestTime) {
    newest = otherwise
    for event in events {
      newest = max(newest, event.time)
      for key in keys(event) {
        var cause = causes[key] ?? Cause(time: event.time)
        cause.time = max(cause.time, event.time)
        cause.trace = event.trace ?? cause.trace
        causes[key] = cause
      }
    }
  }

  /// Adds the cause of changes to all notifications of a type that a recipient has.
  mutating func add(recipient: String, type: Int, _ cause: Cause) {
    causes[Key(recipient, String(type), anySubject)] = cause
    newest = max(newest, cause.time)
  }

  /// Adds the cause of changes to all notifications of a type about a subject.
  mutating func add(type: Int, subject: String, _ cause: Cause) {
    causes[Key(anybody, String(type), subject)] = cause
    newest = max(newest, cause.time)
  }

  func cause(notification: String, recipient: String, type: Int, subject: String) -> Cause {
    let type = String(type)
    let candidates = [
      Key(recipient, type, subject), Key(anybody, type, subject),
      Key(recipient, anyType, subject),
      Key(recipient, anyType, notification.lowercased()), Key(recipient, type, anySubject),
      Key(recipient, anyType, anySubject),
    ].compactMap { causes[$0] }
    guard var cause = candidates.first else { return Cause(time: newest) }
    for other in candidates.dropFirst() {
      cause.time = max(cause.time, other.time)
      cause.trace = cause.trace ?? other.trace
    }
    return cause
  }
}

// These cannot collide with an id or a type, because ids contain no control characters.
private let anybody = "\u{1}"
private let anyType = "\u{1}"
private let anySubject = "\u{1}"

/// The recipient, type and subject of the notifications that an event touches.
private func keys(_ event: Event) -> [Key] {
  func key(_ recipient: String, _ type: AlarmType, _ subject: String) -> Key {
    Key(recipient, String(type.code), subject)
  }
  func comment(_ id: String) -> [Key] {
    [key(anybody, .comment, id), key(anybody, .mention, "comment:\(id)")]
  }
  return switch event.payload {
  case .likeCreated(let data): [key(data.postOwner, .like, data.post)]
  case .likeRemoved(let data): [key(data.postOwner, .like, data.post)]
  case .followCreated(let data): [key(data.followee, .follow, "")]
  case .followRemoved(let data): [key(data.followee, .follow, "")]
  case .messageSent(let data): [key(data.receiver, .message, data.sender)]
  case .commentCreated(let data): comment(data.comment)
  case .commentRemoved(let data): comment(data.comment)
  case .postPublished(let data): [key(anybody, .mention, "post:\(data.post)")]
  case .postDeleted(let data): [key(anybody, .mention, "post:\(data.post)")]
  case .alarmDeleted(let data): [Key(data.user, anyType, data.notification.lowercased())]
  case .alarmAllDeleted(let data): [Key(data.user, anyType, anySubject)]
  // A kind may be written in two ways; its subject says enough.
  case .alarmRaised(let data): [Key(data.recipient, anyType, data.subject)]
  case .alarmWithdrawn(let data): [Key(data.recipient, anyType, data.subject)]
  case .personBlocked(let data):
    [Key(data.user, anyType, anySubject), Key(data.person, anyType, anySubject)]
  case .personUnblocked(let data):
    [Key(data.user, anyType, anySubject), Key(data.person, anyType, anySubject)]
  case .alarmRead, .alarmReadAll, .alarmSeen, .alarmMuted, .alarmUnmuted, .alarmDisabled,
    .alarmEnabled, .personMuted, .personUnmuted, .conversationRead, .profileChanged, .profileEdited,
    .authorSubscribed, .authorUnsubscribed, .reminderSet, .reminderCycleSet, .reminderCancelled,
    .digestSet, .deviceRegistered, .deviceRemoved, .pushPreferences, .userErased,
    .notificationChanged, .notificationRetracted, .alarmChanged, .alarmRetracted:
    []
  }
}
