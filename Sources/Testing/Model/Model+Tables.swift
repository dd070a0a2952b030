import Events

// The rows of the tables behind the pages: contributions, marks, mutes.
extension Model {
  /// The times up to which people read and deleted everything; only of those who did either.
  public var allWatermarks: [ModelMark] {
    marks.compactMap { key, marks in key.count == 1 ? ModelMark(key, marks) : nil }
  }

  /// The marks of single notifications.
  public var allMarks: [ModelMark] {
    marks.compactMap { key, marks in key.count == 2 ? ModelMark(key, marks) : nil }
  }

  /// All mutings and unmutings.
  public var allMutes: [ModelMute] {
    mutes.flatMap { key, toggles in
      toggles.compactMap { version, isMuted in
        Int(key[1].string).map {
          ModelMute(recipient: key[0].string, type: $0, version: version, isMuted: isMuted)
        }
      }
    }
  }

  /// All silences and their ends.
  public var allSilences: [ModelSilence] {
    silences.flatMap { key, toggles in
      toggles.map { version, silence in
        ModelSilence(
          recipient: key[0].string, scope: key.count == 2 ? "actor" : "subject",
          type: key.count == 2 ? -1 : Int(key[1].string) ?? -1, value: key.last?.string ?? "",
          version: version, isOff: silence.isOff, until: silence.until)
      }
    }
  }

  /// All subscriptions to authors and their ends.
  public var allSubscriptions: [ModelSubscription] {
    subscriptions.flatMap { key, toggles in
      toggles.map { version, isSubscribed in
        ModelSubscription(
          author: key[0].string, subscriber: key[1].string, version: version,
          isSubscribed: isSubscribed)
      }
    }
  }

  /// All blocks, also those taken back.
  public var allBlocks: [ModelBlock] {
    blocks.compactMap { key, fact in
      key[0] == key[1]
        ? nil
        : ModelBlock(
          blocker: key[0].string, blocked: key[1].string, isActive: fact.newest.creates,
          version: fact.newest.version)
    }
  }

  /// The facts about posts that notifications use.
  public var allPostFacts: [ModelPostFact] {
    posts.map { key, fact in
      var row = ModelPostFact(
        id: key[0].string, author: fact.newest.key, isDeleted: true, firstAt: fact.createdAt,
        version: fact.newest.version)
      if case .postPublished(let data) = fact.newest.payload {
        row.headText = head(data.title.isEmpty ? data.caption : data.title)
        (row.imageURL, row.mentions, row.isDeleted) = (data.imageURL, data.mentions, false)
      }
      return row
    }
  }

  /// All contributions ever created, including withdrawn ones. Those to subscribers' notifications of
  /// posts leave nothing when they are withdrawn.
  public var allContributions: [ModelContribution] {
    let facts = sources.values.flatMap { fact -> [ModelContribution] in
      guard ![.likeCreated, .likeRemoved, .messageSent].contains(fact.newest.type) else {
        return []
      }
      return contributions(fact, stand: true)
    }
    return facts
      + named.values.flatMap { source, fact -> [ModelContribution] in
        guard let fact else { return [] }
        return contributions(fact, stand: fact.newest.version == sources[source]?.newest.version)
      }
      + subscribersContributions.map { at, contribution in
        row(
          contribution, isActive: true, firstAt: at, version: Version(time: at, id: ""))
      }
  }

  /// The contributions of one fact, or of its events that name one recipient.
  ///
  /// - Parameter stand: whether the newest of these events is the fact's newest.
  private func contributions(_ fact: Fact, stand: Bool) -> [ModelContribution] {
    let standing = stand ? Contribution.all(of: fact.newest, kinds) : []
    let causedAt = fact.newest.causedAt
    return recordedContributions(of: fact).map { recorded in
      var row = row(
        recorded, isActive: standing.contains { $0.key == recorded.key },
        firstAt: fact.firstAt[recorded.key], version: fact.newest.version)
      if causedAt < fact.newest.time { row.causedAt = causedAt }
      return row
    }
  }

  private func row(
    _ recorded: Contribution, isActive: Bool, firstAt: EventTime?, version: Version
  ) -> ModelContribution {
    let key = recorded.key
    var row = ModelContribution(
      recipient: key.recipient.string, type: key.type, subject: key.subject.string,
      source: key.source.string, actor: recorded.actor, isActive: isActive, firstAt: firstAt,
      post: recorded.post, comment: recorded.comment, headText: head(recorded.text),
      imageURL: recorded.raised?.imageURL, arguments: recorded.raised?.arguments,
      isGrouped: recorded.isGrouped, version: version)
    guard let firstAt else { return row }
    row.notification = recorded.notification(at: firstAt)
    row.isCovered = firstAt <= deletion(of: row.notification ?? "", for: key.recipient)
    row.isMuted = isActive && isMuted(key, actor: recorded.actor, at: firstAt)
    return row
  }

  /// The number of contributions of each notification of a day, and of those among them whose source
  /// is not their actor, both without muted ones, and the recipient. Omits notifications with a
  /// deleted contribution.
  public var sizes: [(notification: String, recipient: String, count: Int, others: Int)] {
    var groups: [String: (recipient: String, count: Int, others: Int, isCut: Bool)] = [:]
    for row in allContributions where row.isGrouped && row.isActive {
      guard let id = row.notification else { continue }
      if groups[id] == nil { groups[id] = (row.recipient, 0, 0, false) }
      if row.isCovered { groups[id]?.isCut = true }
      guard !row.isMuted else { continue }
      groups[id]?.count += 1
      if row.type == AlarmType.message.code { continue }
      if row.actor?.hasSameBytes(as: row.source) != true { groups[id]?.others += 1 }
    }
    return groups.filter { !$0.value.isCut && $0.value.count > 0 }
      .map { ($0.key, $0.value.recipient, $0.value.count, $0.value.others) }
  }

  /// The time up to which the recipient deleted the notification, alone or with everything.
  private func deletion(of notification: String, for recipient: BytewiseString) -> EventTime {
    max(
      (marks[[recipient]] ?? Marks()).deleted,
      (marks[[recipient, .init(notification)]] ?? Marks()).deleted)
  }

  /// The rows that the fact's events ever created, with the content of the newest one. A like, a
  /// follow or an alarm that was raised has one even if only its removal is known.
  private func recordedContributions(of fact: Fact) -> [Contribution] {
    func make(_ recipient: String, _ actor: String, _ key: Contribution.Key, _ post: String?)
      -> [Contribution]
    {
      recipient.hasSameBytes(as: actor) ? [] : [Contribution(key: key, actor: actor, post: post)]
    }
    func all(_ actor: String, _ post: String, _ comment: String?, _ text: String)
      -> [Contribution]
    {
      fact.firstAt.keys.map {
        Contribution(key: $0, actor: actor, post: post, comment: comment, text: text)
      }
    }
    switch fact.newest.payload {
    case .likeRemoved(let data):
      let key = Contribution.Key(
        recipient: .init(data.postOwner), type: AlarmType.like.code, subject: .init(data.post),
        source: .init(data.actor))
      return make(data.postOwner, data.actor, key, data.post)
    case .followRemoved(let data):
      let key = Contribution.Key(
        recipient: .init(data.followee), type: AlarmType.follow.code, subject: "",
        source: .init(data.follower))
      return make(data.followee, data.follower, key, nil)
    case .commentCreated(let data): return all(data.actor, data.post, data.comment, data.text)
    case .commentRemoved(let data): return all(data.actor, data.post, data.comment, "")
    case .postPublished(let data):
      return all(data.author, data.post, nil, data.title.isEmpty ? data.caption : data.title)
    case .postDeleted(let data): return all(data.author, data.post, nil, "")
    case .alarmRaised, .alarmWithdrawn:
      return Contribution.raised(fact.newest, kinds).map { [$0] } ?? []
    default: return Contribution.all(of: fact.newest, kinds)
    }
  }
}

/// A JSON object with strings, formatted like PostgreSQL's jsonb: shorter names first.
public func jsonObject(_ members: [String: String]) -> String {
  let sorted = members.sorted {
    ($0.key.utf8.count, BytewiseString($0.key)) < ($1.key.utf8.count, BytewiseString($1.key))
  }
  return "{"
    + sorted.map { "\(jsonString($0.key)): \(jsonString($0.value))" }.joined(separator: ", ")
    + "}"
}

/// A JSON string, formatted like PostgreSQL's.
public func jsonString(_ text: String) -> String {
  var result = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": result += "\\\""
    case "\\": result += "\\\\"
    case "\u{8}": result += "\\b"
    case "\u{C}": result += "\\f"
    case "\n": result += "\\n"
    case "\r": result += "\\r"
    case "\t": result += "\\t"
    case _ where scalar.value < 0x20:
      let digits = String(scalar.value, radix: 16)
      result += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + "\""
}

/// The part of a text that a notification quotes.
func head(_ text: String) -> String {
  String(String.UnicodeScalarView(text.unicodeScalars.prefix(Limits.headCharacters)))
}

extension ModelMark {
  fileprivate init(_ key: Model.Key, _ marks: Model.Marks) {
    let never = EventTime(microseconds: .min)
    self.init(
      user: key[0].string, notification: key.count > 1 ? key[1].string : nil,
      readAt: marks.read == never ? nil : marks.read,
      deletedAt: marks.deleted == never ? nil : marks.deleted,
      seenAt: marks.seen == never ? nil : marks.seen)
  }
}
