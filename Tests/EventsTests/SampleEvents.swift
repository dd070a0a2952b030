import Events
import Workload

let now = EventTime(microseconds: 1_790_000_000_000_000)

/// Random valid events, including hostile text.
struct Samples {
  var random: SplitMix64

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  private static let pieces = [
    "a", "Z", "0", " ", "-", "é", "e\u{301}", "까치", "\u{1112}\u{1161}\u{11AB}", "สวัสดี", "مرحبا",
    "👩‍👩‍👧‍👦", "🇰🇷", "\u{202E}", "\u{FEFF}", "\\", "\"", "<b>", "%s", "\u{FFFD}", "\u{10FFFF}", "\u{2028}",
    "z\u{300}\u{301}\u{302}", "'", ";--", "{", "}", "\u{A0}", "ß", "İ",
  ]

  mutating func text(_ limit: Int, controls: Bool = true) -> String {
    let target = [0, 1, 7, 40, limit].randomElement(using: &random) ?? 0
    let bytes = Int.random(in: 0...min(target, limit), using: &random)
    var result = ""
    let pieces = Self.pieces + (controls ? ["\n", "\t", "\u{1}", "\u{7F}", "\u{85}"] : [])
    while true {
      let piece = pieces.randomElement(using: &random) ?? ""
      if result.utf8.count + piece.utf8.count > bytes { return result }
      result += piece
    }
  }

  mutating func id() -> String {
    let id = text(Limits.idBytes, controls: false)
    return id.isEmpty ? "u\(Int.random(in: 0...9, using: &random))" : id
  }

  /// Somebody, or somebody who has left.
  mutating func peer() -> String {
    let hash = String(repeating: "0f", count: 32)
    return Int.random(in: 0..<8, using: &random) == 0 ? FormerPerson.id(hash: hash) : id()
  }

  mutating func ids(_ limit: Int) -> [String] {
    var seen = Set<BytewiseString>()
    return (0..<Int.random(in: 0...limit, using: &random)).map { _ in id() }
      .filter { seen.insert(BytewiseString($0)).inserted }
  }

  mutating func uuid() -> String {
    let hex = (0..<32).map { _ in "0123456789abcdefABCDEF".randomElement(using: &random) ?? "0" }
    return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(hex[$0]) }
      .joined(separator: "-")
  }

  mutating func number() -> Int64 {
    [0, 1, 2, 9_007_199_254_740_993, Int64.max].randomElement(using: &random) ?? 0
  }

  mutating func event(_ type: EventType) -> Event {
    let time = Int64.random(
      in: Limits.earliestTime.microseconds...now.microseconds, using: &random)
    return Event(
      id: id(), source: id(), time: EventTime(microseconds: time), payload: payload(type))
  }

  mutating func payload(_ type: EventType) -> Payload {
    switch type {
    case .postPublished:
      .postPublished(
        .with {
          ($0.post, $0.author) = (id(), id())
          ($0.title, $0.caption) = (text(Limits.titleBytes), text(Limits.captionBytes))
          ($0.imageURL, $0.mentions) = (text(Limits.urlBytes), ids(Limits.mentions))
        })
    case .postDeleted: .postDeleted(.with { ($0.post, $0.author) = (id(), id()) })
    case .followCreated: .followCreated(.with { ($0.follower, $0.followee) = (id(), id()) })
    case .followRemoved: .followRemoved(.with { ($0.follower, $0.followee) = (id(), id()) })
    case .likeCreated:
      .likeCreated(.with { ($0.actor, $0.post, $0.postOwner) = (id(), id(), id()) })
    case .likeRemoved:
      .likeRemoved(.with { ($0.actor, $0.post, $0.postOwner) = (id(), id(), id()) })
    case .commentCreated:
      .commentCreated(
        .with {
          ($0.comment, $0.actor, $0.post, $0.postOwner) = (id(), id(), id(), id())
          ($0.text, $0.mentions) = (text(Limits.commentBytes), ids(5))
        })
    case .commentRemoved:
      .commentRemoved(
        .with { ($0.comment, $0.actor, $0.post, $0.postOwner) = (id(), id(), id(), id()) })
    case .messageSent:
      .messageSent(
        .with {
          ($0.message, $0.sender, $0.receiver) = (id(), id(), id())
          $0.text = text(Limits.messageBytes)
        })
    case .profileChanged:
      .profileChanged(
        .with {
          ($0.user, $0.nickname) = (id(), text(Limits.nicknameBytes))
          ($0.locale, $0.imageURL) = (text(Limits.localeBytes), text(Limits.urlBytes))
          ($0.name, $0.major) = (text(Limits.nameBytes), text(Limits.majorBytes))
          ($0.bio, $0.zone) = (text(Limits.bioBytes), zone())
        })
    case .conversationRead: .conversationRead(.with { ($0.user, $0.peer) = (id(), peer()) })
    case .profileEdited: .profileEdited(edit())
    case .alarmRead: .alarmRead(.with { ($0.user, $0.notification) = (id(), uuid()) })
    case .alarmReadAll: .alarmReadAll(.with { $0.user = id() })
    case .alarmDeleted: .alarmDeleted(.with { ($0.user, $0.notification) = (id(), uuid()) })
    case .alarmAllDeleted: .alarmAllDeleted(.with { $0.user = id() })
    case .alarmSeen: .alarmSeen(.with { $0.user = id() })
    case .alarmMuted: .alarmMuted(.with { ($0.user, $0.type) = (id(), alarmType()) })
    case .alarmUnmuted: .alarmUnmuted(.with { ($0.user, $0.type) = (id(), alarmType()) })
    case .alarmDisabled:
      .alarmDisabled(
        .with {
          ($0.user, $0.kind, $0.subject, $0.actor) = (id(), alarmType(), id(), id())
          $0.scope = AlarmScope.allCases.randomElement(using: &random)?.rawValue ?? ""
          $0.notification = Bool.random(using: &random) ? uuid() : ""
        })
    case .alarmEnabled:
      .alarmEnabled(
        .with {
          ($0.user, $0.kind, $0.subject, $0.actor) = (id(), alarmType(), id(), id())
          $0.scope = AlarmScope.allCases.randomElement(using: &random)?.rawValue ?? ""
          $0.notification = Bool.random(using: &random) ? uuid() : ""
        })
    case .personBlocked: .personBlocked(.with { ($0.user, $0.person) = (id(), id()) })
    case .personUnblocked: .personUnblocked(.with { ($0.user, $0.person) = (id(), id()) })
    case .personMuted:
      .personMuted(
        .with {
          ($0.user, $0.person) = (id(), id())
          $0.until = Bool.random(using: &random) ? "2030-01-01T09:00:00.5+09:00" : ""
        })
    case .personUnmuted: .personUnmuted(.with { ($0.user, $0.person) = (id(), id()) })
    case .alarmRaised:
      .alarmRaised(
        .with {
          ($0.recipient, $0.kind) = (id(), alarmType())
          ($0.subject, $0.source) = (id(), id())
          $0.actor = Bool.random(using: &random) ? id() : ""
          ($0.headText, $0.imageURL) = (text(Limits.messageBytes), text(Limits.urlBytes))
          $0.arguments = arguments()
          $0.causedAt = Bool.random(using: &random) ? "2023-11-01T09:00:00.5+09:00" : ""
        })
    case .alarmWithdrawn:
      .alarmWithdrawn(
        .with {
          ($0.recipient, $0.kind, $0.subject, $0.source) = (id(), alarmType(), id(), id())
          $0.causedAt = Bool.random(using: &random) ? "2023-11-01T09:00:00.5+09:00" : ""
        })
    case .authorSubscribed:
      .authorSubscribed(.with { ($0.author, $0.subscriber) = (id(), id()) })
    case .authorUnsubscribed:
      .authorUnsubscribed(.with { ($0.author, $0.subscriber) = (id(), id()) })
    case .reminderSet: .reminderSet(reminder())
    case .reminderCycleSet: .reminderCycleSet(cycle())
    case .reminderCancelled:
      .reminderCancelled(.with { ($0.user, $0.reminder) = (id(), id()) })
    case .digestSet: .digestSet(digest())
    case .deviceRegistered:
      .deviceRegistered(
        .with {
          ($0.user, $0.installation) = (id(), id())
          $0.provider = PushProvider.allCases.randomElement(using: &random)?.rawValue ?? "fcm"
          ($0.token, $0.app) = (filledText(Limits.tokenBytes), id())
          $0.locale = text(Limits.localeBytes)
        })
    case .deviceRemoved:
      .deviceRemoved(.with { ($0.user, $0.installation) = (id(), id()) })
    case .pushPreferences:
      .pushPreferences(
        .with {
          ($0.user, $0.zone) = (id(), zone())
          $0.silentKinds = (0..<Int.random(in: 0...5, using: &random)).map { _ in alarmType() }
          if Bool.random(using: &random) { ($0.quietFrom, $0.quietUntil) = ("22:30", "07:15") }
        })
    case .userErased: .userErased(.with { $0.user = id() })
    case .notificationChanged: .notificationChanged(snapshot())
    case .notificationRetracted:
      .notificationRetracted(
        .with {
          ($0.notification, $0.recipient) = (uuid(), id())
          ($0.generation, $0.counter) = (number(), number())
        })
    case .alarmChanged: .alarmChanged(alarm())
    case .alarmRetracted:
      .alarmRetracted(
        .with {
          ($0.notification, $0.recipient, $0.version) = (uuid(), id(), max(1, number()))
          ($0.generation, $0.counter) = (number(), number())
        })
    }
  }

  /// Each field is left out, empty or changed; one at least is named.
  private mutating func edit() -> ProfileEdited {
    var edit = ProfileEdited.with { ($0.user, $0.bio) = (id(), text(Limits.bioBytes)) }
    if Bool.random(using: &random) { edit.nickname = text(Limits.nicknameBytes) }
    if Bool.random(using: &random) { edit.locale = text(Limits.localeBytes) }
    if Bool.random(using: &random) { edit.imageURL = text(Limits.urlBytes) }
    if Bool.random(using: &random) { edit.name = text(Limits.nameBytes) }
    if Bool.random(using: &random) { edit.major = text(Limits.majorBytes) }
    if Bool.random(using: &random) { edit.zone = zone() }
    return edit
  }

  private mutating func zone() -> String {
    let longest = String(repeating: "z", count: Limits.zoneBytes)
    return ["", "Asia/Seoul", "America/Argentina/Buenos_Aires", "Etc/GMT+9", "UTC", longest]
      .randomElement(using: &random) ?? ""
  }

  /// A text that is not empty.
  private mutating func filledText(_ limit: Int) -> String {
    let text = text(limit)
    return text.isEmpty ? "x" : text
  }

  private mutating func reminder() -> ReminderSet {
    .with {
      ($0.user, $0.reminder) = (id(), id())
      $0.kind = Bool.random(using: &random) ? alarmType() : ""
      ($0.title, $0.memo) = (filledText(Limits.titleBytes), text(Limits.memoBytes))
      ($0.symbol, $0.link) = (text(Limits.symbolBytes), text(Limits.linkBytes))
      if Bool.random(using: &random) {
        $0.at =
          ["2026-11-23T07:00", "2028-02-29T23:59:59", "0001-01-01T00:00", "9999-12-31T00:00:00"]
          .randomElement(using: &random) ?? ""
        $0.zone = zone()
      } else {
        $0.instant =
          ["2030-01-01T09:00:00.5+09:00", "1985-02-28t00:00:00z"].randomElement(using: &random)
          ?? ""
      }
      $0.repeat = text(Limits.repeatBytes)
    }
  }

  private mutating func cycle() -> ReminderCycleSet {
    .with {
      ($0.user, $0.cycle) = (id(), id())
      $0.kind = Bool.random(using: &random) ? alarmType() : ""
      let ids = ids(Limits.cycleItems)
      $0.items = (ids.isEmpty ? ["i"] : ids).map { id in
        .with {
          ($0.item, $0.title, $0.memo) = (id, filledText(Limits.titleBytes), text(900))
          ($0.symbol, $0.link) = (text(Limits.symbolBytes), text(Limits.linkBytes))
        }
      }
      $0.from = ["00:00", "05:59", "09:30"].randomElement(using: &random) ?? ""
      $0.to = ["00:01", "22:15", "24:00"].randomElement(using: &random) ?? ""
      $0.zone = zone()
      $0.times = Int32.random(in: 1...Int32(Limits.cycleTimes), using: &random)
      $0.period = ["", "day", "week"].randomElement(using: &random) ?? ""
    }
  }

  private mutating func digest() -> DigestSet {
    .with {
      ($0.user, $0.zone) = (id(), zone())
      $0.at = ["", "00:00", "08:30", "23:59"].randomElement(using: &random) ?? ""
      let days = DigestDay.allCases.shuffled(using: &random)
      $0.days = days.prefix(Int.random(in: 0...7, using: &random)).map(\.rawValue)
      $0.kinds = (0..<Int.random(in: 0...Limits.digestKinds, using: &random)).map { _ in
        alarmType()
      }
      $0.holds = Bool.random(using: &random)
    }
  }

  private mutating func alarmType() -> String {
    ["like", "F00", "F999", "group-invitation", "Kind_1"].randomElement(using: &random) ?? ""
  }

  private mutating func arguments() -> [String: String] {
    let names = (0..<Int.random(in: 0...Limits.arguments, using: &random)).map { "name-\($0)" }
    return Dictionary(uniqueKeysWithValues: names.map { ($0, text(Limits.argumentBytes)) })
  }

  /// Half of the alarms have every field.
  private mutating func alarm() -> AlarmChanged {
    let isFull = Bool.random(using: &random)
    func filled(_ text: String) -> String { isFull && text.isEmpty ? "x" : text }
    let parts = { (samples: inout Samples) in
      0..<Int.random(in: isFull ? 1...3 : 0...3, using: &samples.random)
    }
    return .with {
      ($0.notification, $0.recipient, $0.version) = (uuid(), id(), max(1, number()))
      ($0.kind, $0.locale) = (alarmType(), filled(text(Limits.localeBytes)))
      $0.text = filled(text(900))
      $0.segments = parts(&self).map { _ in
        .with { ($0.kind, $0.text, $0.actor) = ("actor", text(100), id()) }
      }
      $0.spans = parts(&self).map { _ in
        .with {
          ($0.kind, $0.actor) = ("actor", id())
          ($0.start, $0.length) = (Int32.random(in: 0...99, using: &random), 1)
        }
      }
      $0.legacyMessage = filled(text(900))
      $0.legacyHeadText = filled(text(Limits.alarmTextBytes))
      $0.legacyFromNickName = filled(text(100))
      $0.deepLink = filled(text(Limits.alarmTextBytes))
      ($0.badgeIcon, $0.highlightStyle) = (filled(text(100)), filled(text(100)))
      $0.imageURL = filled(text(Limits.urlBytes))
      $0.station = filled(text(Limits.argumentBytes))
      ($0.actor, $0.secondActor) = (id(), filled(Bool.random(using: &random) ? id() : ""))
      ($0.actorCount, $0.contributionCount) = (max(1, number()), max(1, number()))
      $0.post = filled(Bool.random(using: &random) ? id() : "")
      $0.comment = filled(Bool.random(using: &random) ? id() : "")
      ($0.headText, $0.raisedAt) = (filled(text(Limits.messageBytes)), now.microseconds)
      ($0.generation, $0.counter) = (max(isFull ? 1 : 0, number()), max(isFull ? 1 : 0, number()))
    }
  }

  private mutating func snapshot() -> NotificationChanged {
    .with {
      ($0.notification, $0.recipient) = (uuid(), id())
      $0.type = Int32.random(in: 0...999, using: &random)
      ($0.subject, $0.actor) = (text(Limits.subjectBytes), id())
      ($0.source, $0.arguments) = (id(), arguments())
      $0.secondActor = Bool.random(using: &random) ? id() : ""
      ($0.actorCount, $0.contributionCount) = (max(1, number()), max(1, number()))
      $0.post = Bool.random(using: &random) ? id() : ""
      $0.comment = Bool.random(using: &random) ? id() : ""
      ($0.imageURL, $0.headText) = (text(Limits.urlBytes), text(Limits.messageBytes))
      $0.raisedAt = now.microseconds
      ($0.generation, $0.counter) = (number(), number())
    }
  }
}
