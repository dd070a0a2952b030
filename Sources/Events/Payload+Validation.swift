extension Payload {
  /// Validates the data and removes duplicate mentions.
  ///
  /// - Parameter isChangedByErasure: whether a message may have a former person as its receiver.
  /// - Throws: ``EventError`` for the first field that violates ``Limits``.
  mutating func validate(isChangedByErasure: Bool = false) throws(EventError) {
    switch self {
    case .postPublished(var data):
      try checkID(data.post, "post")
      try checkID(data.author, "author")
      try checkText(data.title, "title", Limits.titleBytes)
      try checkText(data.caption, "caption", Limits.captionBytes)
      try checkText(data.imageURL, "imageUrl", Limits.urlBytes)
      data.mentions = try checkedMentions(data.mentions)
      self = .postPublished(data)
    case .commentCreated(var data):
      try checkID(data.comment, "comment")
      try checkID(data.actor, "actor")
      try checkID(data.post, "post")
      try checkID(data.postOwner, "postOwner")
      try checkText(data.text, "text", Limits.commentBytes)
      data.mentions = try checkedMentions(data.mentions)
      self = .commentCreated(data)
    case .messageSent(var data) where isChangedByErasure:
      try checkPeer(data.receiver, "receiver")
      data.receiver = data.sender
      try Payload.messageSent(data).check()
    default:
      try check()
    }
  }

  private func check() throws(EventError) {
    switch self {
    case .postPublished, .commentCreated: break
    case .postDeleted(let data): try checkIDs(("post", data.post), ("author", data.author))
    case .followCreated(let data):
      try checkIDs(("follower", data.follower), ("followee", data.followee))
    case .followRemoved(let data):
      try checkIDs(("follower", data.follower), ("followee", data.followee))
    case .likeCreated(let data):
      try checkIDs(("actor", data.actor), ("post", data.post), ("postOwner", data.postOwner))
    case .likeRemoved(let data):
      try checkIDs(("actor", data.actor), ("post", data.post), ("postOwner", data.postOwner))
    case .commentRemoved(let data):
      try checkIDs(("comment", data.comment), ("actor", data.actor))
      try checkIDs(("post", data.post), ("postOwner", data.postOwner))
    case .messageSent(let data):
      try checkIDs(
        ("message", data.message), ("sender", data.sender), ("receiver", data.receiver))
      try checkText(data.text, "text", Limits.messageBytes)
    case .conversationRead(let data):
      try checkID(data.user, "user")
      try checkPeer(data.peer, "peer")
    case .profileChanged(let data):
      try checkID(data.user, "user")
      for field in ProfileField.allCases {
        try checkText(data[keyPath: field.changed], field.rawValue, field.limitBytes)
      }
      try checkZone(data.zone)
    case .profileEdited(let data):
      try checkID(data.user, "user")
      let edits = data.edits
      guard !edits.isEmpty || data.hasZone else {
        let names = ProfileField.allCases.map(\.rawValue) + ["zone"]
        throw EventError(
          .missingField, "The event names none of \(names.joined(separator: ", ")).", field: "data")
      }
      for (field, value) in edits { try checkText(value, field.rawValue, field.limitBytes) }
      try checkZone(data.zone)
    case .alarmRead(let data):
      try checkID(data.user, "user")
      try checkUUID(data.notification, "notification")
    case .alarmReadAll(let data): try checkID(data.user, "user")
    case .alarmDeleted(let data):
      try checkID(data.user, "user")
      try checkUUID(data.notification, "notification")
    case .alarmAllDeleted(let data): try checkID(data.user, "user")
    case .alarmSeen(let data): try checkID(data.user, "user")
    case .alarmMuted(let data):
      try checkID(data.user, "user")
      try checkKind(data.type, "type")
    case .alarmUnmuted(let data):
      try checkID(data.user, "user")
      try checkKind(data.type, "type")
    case .alarmDisabled(let data):
      try data.check()
    case .alarmEnabled(let data): try data.asDisabled.check()
    case .personBlocked(let data): try checkIDs(("user", data.user), ("person", data.person))
    case .personUnblocked(let data): try checkIDs(("user", data.user), ("person", data.person))
    case .personMuted(let data):
      try checkIDs(("user", data.user), ("person", data.person))
      try checkOptionalTime(data.until, "until")
    case .personUnmuted(let data): try checkIDs(("user", data.user), ("person", data.person))
    case .alarmRaised(let data):
      try checkID(data.recipient, "recipient")
      try checkKind(data.kind, "kind")
      try checkOptionalID(data.subject, "subject")
      try checkID(data.source, "source")
      try checkOptionalID(data.actor, "actor")
      try checkText(data.headText, "headText", Limits.messageBytes)
      try checkText(data.imageURL, "imageUrl", Limits.urlBytes)
      try checkArguments(data.arguments)
      try checkOptionalTime(data.causedAt, "causedAt")
    case .alarmWithdrawn(let data):
      try checkID(data.recipient, "recipient")
      try checkKind(data.kind, "kind")
      try checkOptionalID(data.subject, "subject")
      try checkID(data.source, "source")
      try checkOptionalTime(data.causedAt, "causedAt")
    case .authorSubscribed(let data):
      try checkIDs(("author", data.author), ("subscriber", data.subscriber))
    case .authorUnsubscribed(let data):
      try checkIDs(("author", data.author), ("subscriber", data.subscriber))
    case .reminderSet(let data): try data.check()
    case .reminderCycleSet(let data): try data.check()
    case .reminderCancelled(let data):
      try checkIDs(("user", data.user), ("reminder", data.reminder))
    case .digestSet(let data): try data.check()
    case .deviceRegistered(let data): try data.check()
    case .deviceRemoved(let data):
      try checkIDs(("user", data.user), ("installation", data.installation))
    case .pushPreferences(let data): try data.check()
    case .userErased(let data): try checkID(data.user, "user")
    case .notificationChanged(let data): try data.check()
    case .notificationRetracted(let data):
      try checkUUID(data.notification, "notification")
      try checkID(data.recipient, "recipient")
      try checkRange(data.generation, "generation", 0...Int64.max)
      try checkRange(data.counter, "counter", 0...Int64.max)
    case .alarmChanged(let data): try data.check()
    case .alarmRetracted(let data):
      try checkUUID(data.notification, "notification")
      try checkID(data.recipient, "recipient")
      try checkRange(data.version, "version", 1...Int64.max)
      try checkRange(data.generation, "generation", 0...Int64.max)
      try checkRange(data.counter, "counter", 0...Int64.max)
    }
  }
}

extension AlarmDisabled {
  fileprivate func check() throws(EventError) {
    try checkID(user, "user")
    if !notification.isEmpty { try checkUUID(notification, "notification") }
    try checkText(subject, "subject", Limits.subjectBytes)
    try checkOptionalID(actor, "actor")
    switch AlarmScope(rawValue: scope) {
    case .kind, .subject: try checkKind(kind, "kind")
    case .actor:
      try checkID(actor, "actor")
      if !kind.isEmpty { try checkKind(kind, "kind") }
    case nil:
      throw EventError(
        .badValue, "scope is \(excerpt(scope)); it must be kind, subject or actor.", field: "scope")
    }
  }
}

extension NotificationChanged {
  fileprivate func check() throws(EventError) {
    try checkUUID(notification, "notification")
    try checkID(recipient, "recipient")
    try checkRange(Int64(type), "type", 0...Int64(Limits.kindMax))
    try checkText(subject, "subject", Limits.subjectBytes)
    try checkOptionalID(actor, "actor")
    try checkOptionalID(secondActor, "secondActor")
    try checkRange(actorCount, "actorCount", (actor.isEmpty ? 0 : 1)...Int64.max)
    try checkRange(contributionCount, "contributionCount", 1...Int64.max)
    try checkOptionalID(post, "post")
    try checkOptionalID(comment, "comment")
    try checkText(imageURL, "imageUrl", Limits.urlBytes)
    try checkText(headText, "headText", Limits.messageBytes)
    try checkRange(raisedAt, "raisedAt", Limits.earliestTime.microseconds...Int64.max)
    try checkRange(generation, "generation", 0...Int64.max)
    try checkRange(counter, "counter", 0...Int64.max)
    try checkText(source, "source", Limits.subjectBytes)
    try checkArguments(arguments)
  }
}

/// What `alarm.disabled` turns off: a kind of alarm, a kind about one subject, or what one person does.
public enum AlarmScope: String, CaseIterable, Sendable {
  case kind, subject, actor
}

extension AlarmChanged {
  fileprivate func check() throws(EventError) {
    try checkUUID(notification, "notification")
    try checkID(recipient, "recipient")
    try checkRange(version, "version", 1...Int64.max)
    try checkKind(kind, "kind")
    try checkText(locale, "locale", Limits.localeBytes)
    try checkText(text, "text", Limits.alarmTextBytes)
    try checkSegments()
    try checkText(legacyMessage, "legacyMessage", Limits.alarmTextBytes)
    try checkText(legacyHeadText, "legacyHeadText", Limits.alarmTextBytes)
    try checkText(legacyFromNickName, "legacyFromNickName", Limits.alarmTextBytes)
    try checkText(deepLink, "deepLink", Limits.alarmTextBytes)
    try checkText(badgeIcon, "badgeIcon", Limits.urlBytes)
    try checkText(highlightStyle, "highlightStyle", Limits.urlBytes)
    try checkText(imageURL, "imageUrl", Limits.urlBytes)
    try checkText(station, "station", Limits.argumentBytes)
    try checkOptionalID(actor, "actor")
    try checkOptionalID(secondActor, "secondActor")
    try checkRange(actorCount, "actorCount", (actor.isEmpty ? 0 : 1)...Int64.max)
    try checkRange(contributionCount, "contributionCount", 1...Int64.max)
    try checkOptionalID(post, "post")
    try checkOptionalID(comment, "comment")
    try checkText(headText, "headText", Limits.messageBytes)
    try checkRange(raisedAt, "raisedAt", Limits.earliestTime.microseconds...Int64.max)
    try checkRange(generation, "generation", 0...Int64.max)
    try checkRange(counter, "counter", 0...Int64.max)
  }

  private func checkSegments() throws(EventError) {
    for (field, count) in [("segments", segments.count), ("spans", spans.count)] {
      guard count <= Limits.alarmSegments else {
        throw EventError(
          .badValue, "\(field) has \(count) members; at most \(Limits.alarmSegments) are allowed.",
          field: field)
      }
    }
    var bytes = 0
    for segment in segments {
      bytes += segment.text.utf8.count
      try checkKind(segment.kind, "segments.kind")
      try checkText(segment.text, "segments.text", Limits.alarmTextBytes)
      try checkOptionalID(segment.actor, "segments.actor")
    }
    guard bytes <= Limits.alarmTextBytes else {
      throw EventError(
        .fieldTooLong,
        "The segments have \(bytes) bytes; at most \(Limits.alarmTextBytes) are allowed.",
        field: "segments")
    }
    for span in spans {
      try checkKind(span.kind, "spans.kind")
      try checkRange(Int64(span.start), "spans.start", 0...Int64(Limits.alarmTextBytes))
      try checkRange(Int64(span.length), "spans.length", 1...Int64(Limits.alarmTextBytes))
      try checkOptionalID(span.actor, "spans.actor")
    }
  }
}

/// The kinds of alarm that events of their own raise, in the order of their codes (`like` is 0).
public enum AlarmType: String, CaseIterable, Sendable {
  case like, comment, follow, message, mention, post

  /// The code in `NotificationChanged.type` and in the tables, 0 to 5.
  public var code: Int {
    switch self {
    case .like: 0
    case .comment: 1
    case .follow: 2
    case .message: 3
    case .mention: 4
    case .post: 5
    }
  }

  /// The code in `AlarmChanged.kind` and in silences, `F00` to `F05`.
  package var kindCode: String { "F0\(code)" }

  /// The code of an alarm about an author's new post, which follows from a subscription and not from an
  /// event of its own.
  package static let newPostCode = 13

  /// The type with this code, if any.
  public init?(code: Int) {
    guard let type = Self.allCases.first(where: { $0.code == code }) else { return nil }
    self = type
  }
}
