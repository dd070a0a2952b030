import Events

// People who were erased. Does not use `Event.forgetting`, so that the two can be compared.
extension Model {
  mutating func erase(_ person: String, at time: EventTime) {
    let person = BytewiseString(person)
    if let known = erasures[person], time <= known { return }
    var again = Self(kinds: kinds, formerIDs: formerIDs)
    again.erasures = erasures
    again.erasures[person] = time
    for event in events { again.apply(event) }
    self = again
  }

  /// Whether what names the person at that time has no effect.
  private func isErased(_ person: String, _ time: EventTime) -> Bool {
    erasures[.init(person)].map { time <= $0 } ?? false
  }

  /// What is left of the event: nil if it was one of somebody who was erased, or about them.
  func remaining(_ event: Event) -> Event? {
    guard !erasures.isEmpty else { return event }
    var event = event
    func without(_ people: String...) -> Event? {
      people.contains { isErased($0, event.causedAt) } ? nil : event
    }
    switch event.payload {
    // Mentions go alone.
    case .postPublished(var data):
      data.mentions = data.mentions.filter { !isErased($0, event.time) }
      event.payload = .postPublished(data)
      return without(data.author)
    case .commentCreated(var data):
      data.mentions = data.mentions.filter { !isErased($0, event.time) }
      event.payload = .commentCreated(data)
      return without(data.actor, data.postOwner)
    // A message is its sender's.
    case .messageSent(var data):
      if isErased(data.receiver, event.time), !isErased(data.sender, event.time) {
        data.receiver =
          formerIDs[.init(data.receiver)] ?? FormerPerson.id(hash: data.receiver)
        event.payload = .messageSent(data)
      }
      return without(data.sender)
    case .postDeleted(let data): return without(data.author)
    case .followCreated(let data): return without(data.follower, data.followee)
    case .followRemoved(let data): return without(data.follower, data.followee)
    case .likeCreated(let data): return without(data.actor, data.postOwner)
    case .likeRemoved(let data): return without(data.actor, data.postOwner)
    case .commentRemoved(let data): return without(data.actor, data.postOwner)
    case .conversationRead(let data): return without(data.user, data.peer)
    case .personBlocked(let data): return without(data.user, data.person)
    case .personUnblocked(let data): return without(data.user, data.person)
    case .personMuted(let data): return without(data.user, data.person)
    case .personUnmuted(let data): return without(data.user, data.person)
    case .authorSubscribed(let data): return without(data.author, data.subscriber)
    case .authorUnsubscribed(let data): return without(data.author, data.subscriber)
    case .alarmRaised(let data): return without(data.recipient, data.actor, data.source)
    case .alarmWithdrawn(let data): return without(data.recipient, data.source)
    case .alarmDisabled(let data):
      return without(data.user, silenced(data.scope, data.kind, data.subject, data.actor))
    case .alarmEnabled(let data):
      return without(data.user, silenced(data.scope, data.kind, data.subject, data.actor))
    case .profileChanged(let data): return without(data.user)
    case .profileEdited(let data): return without(data.user)
    case .alarmRead(let data): return without(data.user)
    case .alarmReadAll(let data): return without(data.user)
    case .alarmDeleted(let data): return without(data.user)
    case .alarmAllDeleted(let data): return without(data.user)
    case .alarmSeen(let data): return without(data.user)
    case .alarmMuted(let data): return without(data.user)
    case .alarmUnmuted(let data): return without(data.user)
    case .reminderSet(let data): return without(data.user)
    case .reminderCycleSet(let data): return without(data.user)
    case .reminderCancelled(let data): return without(data.user)
    case .digestSet(let data): return without(data.user)
    case .deviceRegistered, .deviceRemoved, .pushPreferences, .userErased, .notificationChanged,
      .notificationRetracted, .alarmChanged, .alarmRetracted:
      return event  // No part of the model.
    }
  }

  /// The person whom a silence is about, if any: the subject of an alarm about messages is their sender.
  private func silenced(_ scope: String, _ kind: String, _ subject: String, _ actor: String)
    -> String
  {
    switch AlarmScope(rawValue: scope) {
    case .actor: actor
    case .subject where kinds.kind(kind)?.code.number == AlarmType.message.code: subject
    default: ""
    }
  }
}
