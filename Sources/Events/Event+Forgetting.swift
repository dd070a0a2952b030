extension Event {
  /// The people whom the event names: the ids that are erased with a person.
  ///
  /// What workers publish names its recipient only: the actors in it follow from other events, and a later
  /// version replaces it. `user.erased` names nobody, because it stays in effect.
  public var people: [String] {
    let ids: [String] =
      switch payload {
      case .postPublished(let data): [data.author] + data.mentions
      case .postDeleted(let data): [data.author]
      case .followCreated(let data): [data.follower, data.followee]
      case .followRemoved(let data): [data.follower, data.followee]
      case .likeCreated(let data): [data.actor, data.postOwner]
      case .likeRemoved(let data): [data.actor, data.postOwner]
      case .commentCreated(let data): [data.actor, data.postOwner] + data.mentions
      case .commentRemoved(let data): [data.actor, data.postOwner]
      case .messageSent(let data): [data.sender, data.receiver]
      case .conversationRead(let data): [data.user, data.peer]
      case .alarmDisabled(let data): data.people
      case .alarmEnabled(let data): data.asDisabled.people
      case .personBlocked(let data): [data.user, data.person]
      case .personUnblocked(let data): [data.user, data.person]
      case .personMuted(let data): [data.user, data.person]
      case .personUnmuted(let data): [data.user, data.person]
      // Where each person counts once, the source is the actor. It counts in both events, or a withdrawal would
      // be forgotten without the alarm.
      case .alarmRaised(let data): [data.recipient, data.actor, data.source]
      case .alarmWithdrawn(let data): [data.recipient, data.source]
      case .authorSubscribed(let data): [data.author, data.subscriber]
      case .authorUnsubscribed(let data): [data.author, data.subscriber]
      case .userErased: []
      default: [key]
      }
    return ids.filter { !$0.isEmpty }
  }

  /// The time with which an erasure is compared: that of the event; an earlier one that the event names, such as when
  /// a reminder was set that rings now; or when the notification was raised whose state the event tells, because that
  /// is the time of the newest thing that happened to its recipient.
  public var causedAt: EventTime {
    switch payload {
    case .alarmRaised(let data): earlier(data.causedAt)
    case .alarmWithdrawn(let data): earlier(data.causedAt)
    case .notificationChanged(let data): EventTime(microseconds: data.raisedAt)
    case .alarmChanged(let data): EventTime(microseconds: data.raisedAt)
    default: time
    }
  }

  private func earlier(_ text: String) -> EventTime {
    (try? EventTime(rfc3339: text)).map { min($0, time) } ?? time
  }

  /// The event after people were erased; nil if it has no effect any more.
  ///
  /// Mentions of erased people are removed, and the rest of the post or comment stays; so does a silence that names an
  /// actor whom its scope does not. Any other event that names an erased person is dropped.
  ///
  /// - Parameters:
  ///   - isErased: whether the person was erased at `causedAt` or later.
  ///   - formerReceiver: the id that replaces an erased receiver of a message, because the message stays its
  ///     sender's; nil drops the message.
  public func forgetting(
    formerReceiver: (String) -> String? = { _ in nil }, _ isErased: (String) -> Bool
  ) -> Event? {
    var event = self
    /// Whom a silence names.
    func actor(_ actor: String, scope: String) -> String {
      scope != AlarmScope.actor.rawValue && isErased(actor) ? "" : actor
    }
    switch payload {
    case .postPublished(var data):
      data.mentions.removeAll(where: isErased)
      event.payload = .postPublished(data)
    case .commentCreated(var data):
      data.mentions.removeAll(where: isErased)
      event.payload = .commentCreated(data)
    case .messageSent(var data):
      if isErased(data.receiver), let former = formerReceiver(data.receiver) {
        data.receiver = former
        event.payload = .messageSent(data)
      }
    case .alarmDisabled(var data):
      data.actor = actor(data.actor, scope: data.scope)
      event.payload = .alarmDisabled(data)
    case .alarmEnabled(var data):
      data.actor = actor(data.actor, scope: data.scope)
      event.payload = .alarmEnabled(data)
    default: break
    }
    return event.people.contains(where: isErased) ? nil : event
  }
}

extension AlarmEnabled {
  /// The silence that it ends: the two events have the same fields.
  var asDisabled: AlarmDisabled {
    .with {
      ($0.user, $0.notification, $0.scope) = (user, notification, scope)
      ($0.kind, $0.subject, $0.actor) = (kind, subject, actor)
    }
  }
}

extension AlarmDisabled {
  fileprivate var people: [String] {
    // The subject of alarms about messages is their sender.
    let message = AlarmType.message
    let isAboutMessages =
      scope == AlarmScope.subject.rawValue && [message.rawValue, message.kindCode].contains(kind)
    return [user, actor] + (isAboutMessages ? [subject] : [])
  }
}
