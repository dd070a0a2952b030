public import Events

/// Alarms of any kind.
extension Producer {
  /// Raises an alarm of any kind in the workers' registry that has no event of its own.
  ///
  /// Of the events with the same recipient, kind, subject and source, the latest decides: raising
  /// again replaces the content, and ``withdrawAlarm(kind:of:subject:source:causedAt:id:at:)`` withdraws it.
  ///
  /// - Parameters:
  ///   - kind: the kind's code, such as `F06`, or its name, such as `reply`. If the registry does not
  ///     have it, the event becomes a dead letter.
  ///   - recipient: the person notified.
  ///   - subject: what the alarm is about, such as a post. A kind that is grouped has one alarm per
  ///     subject and UTC day.
  ///   - source: tells this contribution from others about the same subject, such as the id of a
  ///     reply. The actor, if one person can contribute only once.
  ///   - actor: the person who did it; nil if nobody did. Nobody is notified of their own actions.
  ///   - headText: quoted after the sentence.
  ///   - imageURL: the image that the list shows.
  ///   - arguments: values for the kind's arguments, by name.
  ///   - causedAt: when somebody caused the alarm, such as by setting a reminder that rings at `time`. An erasure of
  ///     the recipient at that time or later leaves no alarm. Nil means `time`.
  @discardableResult
  public func raiseAlarm(
    kind: String, of recipient: String, subject: String = "", source: String,
    actor: String? = nil, headText: String = "", imageURL: String = "",
    arguments: [String: String] = [:], causedAt: EventTime? = nil, id: String? = nil,
    at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = AlarmRaised()
    data.recipient = recipient
    data.kind = kind
    data.subject = subject
    data.source = source
    data.actor = actor ?? ""
    data.headText = headText
    data.imageURL = imageURL
    data.arguments = arguments
    data.causedAt = causedAt?.rfc3339 ?? ""
    return try await publish(.alarmRaised(data), id: id, at: time)
  }

  /// Withdraws the alarm that was raised with the same kind, recipient, subject and source.
  ///
  /// - Parameter causedAt: as it was raised.
  @discardableResult
  public func withdrawAlarm(
    kind: String, of recipient: String, subject: String = "", source: String,
    causedAt: EventTime? = nil, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = AlarmWithdrawn()
    data.recipient = recipient
    data.kind = kind
    data.subject = subject
    data.source = source
    data.causedAt = causedAt?.rfc3339 ?? ""
    return try await publish(.alarmWithdrawn(data), id: id, at: time)
  }
}

/// The bell: alarms of an author's posts.
extension Producer {
  /// A person asks to be notified of an author's posts from now on.
  @discardableResult
  public func subscribe(
    _ subscriber: String, to author: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = AuthorSubscribed()
    data.author = author
    data.subscriber = subscriber
    return try await publish(.authorSubscribed(data), id: id, at: time)
  }

  /// A person is no longer notified of an author's posts; existing alarms stay.
  @discardableResult
  public func unsubscribe(
    _ subscriber: String, from author: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = AuthorUnsubscribed()
    data.author = author
    data.subscriber = subscriber
    return try await publish(.authorUnsubscribed(data), id: id, at: time)
  }
}

/// Actions of people on their alarms.
extension Producer {
  /// A person has read one alarm. `notification` is its id, as returned by `alarm_page`.
  @discardableResult
  public func readAlarm(
    _ notification: String, of user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = AlarmRead()
    data.user = user
    data.notification = notification
    return try await publish(.alarmRead(data), id: id, at: time)
  }

  /// A person has read all alarms up to now.
  @discardableResult
  public func readAllAlarms(of user: String, id: String? = nil, at time: EventTime? = nil)
    async throws -> Acknowledgement
  {
    var data = AlarmReadAll()
    data.user = user
    return try await publish(.alarmReadAll(data), id: id, at: time)
  }

  /// A person deletes one alarm. `notification` is its id, as returned by `alarm_page`.
  @discardableResult
  public func deleteAlarm(
    _ notification: String, of user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = AlarmDeleted()
    data.user = user
    data.notification = notification
    return try await publish(.alarmDeleted(data), id: id, at: time)
  }

  /// A person deletes all alarms up to now.
  @discardableResult
  public func deleteAllAlarms(of user: String, id: String? = nil, at time: EventTime? = nil)
    async throws -> Acknowledgement
  {
    var data = AlarmAllDeleted()
    data.user = user
    return try await publish(.alarmAllDeleted(data), id: id, at: time)
  }

  /// A person has seen the list of alarms: none raised up to now is on the badge. Unread ones stay
  /// unread.
  @discardableResult
  public func markAlarmsSeen(of user: String, id: String? = nil, at time: EventTime? = nil)
    async throws -> Acknowledgement
  {
    var data = AlarmSeen()
    data.user = user
    return try await publish(.alarmSeen(data), id: id, at: time)
  }

  /// A person mutes alarms of a kind; existing ones stay.
  ///
  /// - Parameter type: the kind's code, such as `F06`, or its name, such as `reply`.
  @discardableResult
  public func muteAlarms(
    _ type: String, of user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = AlarmMuted()
    data.user = user
    data.type = type
    return try await publish(.alarmMuted(data), id: id, at: time)
  }

  /// A person unmutes alarms of a kind.
  ///
  /// - Parameter type: as for ``muteAlarms(_:of:id:at:)``.
  @discardableResult
  public func unmuteAlarms(
    _ type: String, of user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    var data = AlarmUnmuted()
    data.user = user
    data.type = type
    return try await publish(.alarmUnmuted(data), id: id, at: time)
  }

  /// A person wants no more alarms like one of their list; existing ones stay.
  ///
  /// - Parameter what: what is turned off. `alarm_scopes` tells it of an alarm.
  @discardableResult
  public func disableAlarms(
    _ what: AlarmsOff, of user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    let data = AlarmDisabled.with {
      ($0.user, $0.scope) = (user, what.scope.rawValue)
      ($0.kind, $0.subject, $0.actor) = (what.kind, what.subject, what.actor)
    }
    return try await publish(.alarmDisabled(data), id: id, at: time)
  }

  /// Takes back ``disableAlarms(_:of:id:at:)`` for alarms from now on.
  @discardableResult
  public func enableAlarms(
    _ what: AlarmsOff, of user: String, id: String? = nil, at time: EventTime? = nil
  ) async throws -> Acknowledgement {
    let data = AlarmEnabled.with {
      ($0.user, $0.scope) = (user, what.scope.rawValue)
      ($0.kind, $0.subject, $0.actor) = (what.kind, what.subject, what.actor)
    }
    return try await publish(.alarmEnabled(data), id: id, at: time)
  }
}

/// Alarms that a person turns off or on. Kinds are named by their code, such as `F06`, or their name.
public enum AlarmsOff: Sendable {
  /// All of a kind, as ``Producer/muteAlarms(_:of:id:at:)`` does.
  case kind(String)
  /// Those of a kind about one subject, such as the likes of one post.
  case subject(kind: String, subject: String)
  /// Those of what one person does, as ``Producer/mutePerson(_:by:until:id:at:)`` does.
  case actor(String)

  var scope: AlarmScope {
    switch self {
    case .kind: .kind
    case .subject: .subject
    case .actor: .actor
    }
  }

  var kind: String {
    switch self {
    case .kind(let kind), .subject(let kind, _): kind
    case .actor: ""
    }
  }

  var subject: String { if case .subject(_, let subject) = self { subject } else { "" } }
  var actor: String { if case .actor(let person) = self { person } else { "" } }
}
