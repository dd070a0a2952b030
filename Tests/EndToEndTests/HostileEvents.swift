import Events
import Foundation
import TestSupport

/// Valid events at the limits: few people, posts, comments and messages, with ids that differ only as
/// bytes and are reused as no real backend would; texts that break naive rendering; equal times, and
/// the earliest and latest valid times.
struct HostileEvents {
  /// Ids that faulty quoting, arrays, patterns, normalization or trimming would change.
  static let ids = [
    "\u{e9}", "e\u{301}", "'; DROP TABLE users; --", "q\"\\{,} '(%_)", "NULL", " ", "\u{202E}evil",
    "\u{2028}", "$1", String(repeating: "\u{10FFFF}", count: 32),
  ]
  private static let nicknames = [
    "", "<b>", "{actor}", "%@ %1$s", "\u{202E}\u{2066}abc", "👨‍👩‍👧‍👦", "님이", "a\nb\u{1B}[31m", "\u{FEFF}",
    "z" + String(repeating: "\u{301}", count: 500), String(repeating: "가", count: 341),
  ]
  private static let texts = [
    "", " ", "</bdi><script>", "a\u{7}\r\n\tb", "\u{1F3FB}\u{200D}", "\u{FFFD}\u{FFFF}", "\\u0000",
    "z" + String(repeating: "\u{301}\u{302}", count: 4000), String(repeating: "\"\\", count: 8000),
  ]
  private static let locales = ["", "ko", "th-TH", "en", "../../etc", "KO_kr.UTF-8", "x-\u{202E}"]
  private static let types = AlarmType.allCases.map(\.rawValue)

  private var random: SeededGenerator
  private let now: EventTime

  init(_ random: SeededGenerator, now: EventTime = .now) {
    self.random = random
    self.now = now
  }

  mutating func events(_ count: Int) -> [Event] {
    (0..<count).map { number in
      let hostile = Self.ids.randomElement(using: &random) ?? ""
      // Unique, because two events with the same id are one event; not ordered by number.
      let id = "\(UInt32.random(in: 0...9, using: &random))\(hostile.prefix(20))\(number)"
      return Event(id: id, source: hostile, time: time(), payload: payload())
    }
  }

  /// Few distinct times over days, so that many are equal, and both limits.
  private mutating func time() -> EventTime {
    let ends = [
      Limits.earliestTime, EventTime(microseconds: Limits.earliestTime.microseconds + 1),
      // The limit as of the start of the test.
      EventTime(microseconds: now.microseconds + Limits.futureMicroseconds),
    ]
    if Int.random(in: 0..<20, using: &random) == 0 { return pick(ends) }
    let hours = Int64.random(in: 0..<60, using: &random)
    return EventTime(microseconds: now.microseconds - hours * 3_600_000_000)
  }

  private mutating func pick<T>(_ values: [T]) -> T {
    values[Int.random(in: 0..<values.count, using: &random)]
  }

  private mutating func mentions() -> [String] {
    switch Int.random(in: 0..<10, using: &random) {
    case 0: (0..<Limits.mentions).map { Self.ids[$0 % 3] + "\($0)" }
    case 1...4: (0..<Int.random(in: 1...5, using: &random)).map { _ in pick(Self.ids) }
    default: []
    }
  }

  private mutating func notification(of user: String) -> String {
    let day = String(time().rfc3339.prefix(10))
    let (subject, person) = (pick(Self.ids), pick(Self.ids))
    let id =
      switch Int.random(in: 0..<5, using: &random) {
      case 0:
        NotificationID.uuid(recipient: user, kind: AlarmType.follow.code, subject: "", day: day)
      case 1:
        NotificationID.uuid(
          recipient: user, kind: AlarmType.message.code, subject: person, day: day)
      case 2:
        NotificationID.uuid(
          recipient: user, kind: AlarmType.comment.code, subject: subject, day: "")
      case 3:
        NotificationID.uuid(
          recipient: user, kind: AlarmType.mention.code, subject: "post:" + subject, day: "")
      default:
        NotificationID.uuid(recipient: user, kind: AlarmType.like.code, subject: subject, day: day)
      }
    return Bool.random(using: &random) ? id.uppercased() : id
  }

  private mutating func payload() -> Payload {
    let (one, other, owner) = (pick(Self.ids), pick(Self.ids), pick(Self.ids))
    let (aPost, aComment, text) = (pick(Self.ids), pick(Self.ids), pick(Self.texts))
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<12:
      let (mentions, nickname) = (mentions(), pick(Self.nicknames))
      let title = nickname.utf8.count <= Limits.titleBytes ? nickname : ""
      return .post(aPost, by: one, title: title, caption: text, mentions: mentions)
    case 12..<16: return .postDeletion(aPost, by: one)
    case 16..<26: return .follow(one, other)
    case 26..<32: return .unfollow(one, other)
    case 32..<42: return .like(one, aPost, of: owner)
    case 42..<48: return .unlike(one, aPost, of: owner)
    case 48..<60:
      return .comment(aComment, by: one, on: aPost, of: owner, text, mentions: mentions())
    case 60..<65: return .commentRemoval(aComment, by: one, on: aPost, of: owner)
    case 65..<75: return .message(aPost, from: one, to: other, text)
    case 75..<83:
      let (nickname, locale) = (pick(Self.nicknames), pick(Self.locales))
      let name = nickname.utf8.count <= Limits.nameBytes ? nickname : ""
      return .profile(one, nickname: nickname, locale: locale, name: name, bio: "%_\\")
    case 83..<86:
      let id = notification(of: one)
      return .alarmRead(.with { ($0.user, $0.notification) = (one, id) })
    case 86..<89:
      let id = notification(of: one)
      return .alarmDeleted(.with { ($0.user, $0.notification) = (one, id) })
    case 89: return .alarmReadAll(.with { $0.user = one })
    case 90: return .alarmAllDeleted(.with { $0.user = one })
    case 91..<96: return .mute(one, pick(Self.types))
    default: return .unmute(one, pick(Self.types))
    }
  }
}
