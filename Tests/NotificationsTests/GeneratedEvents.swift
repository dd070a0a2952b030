import Events
import Foundation
import Notifications
import TestSupport

/// Few users, posts and times, so that everything collides: self-actions, equal times, undos before
/// the undone events, disagreement about owners, ids that differ only in bytes.
struct GeneratedEvents {
  static let people = ["a", "e\u{301}", "\u{e9}", "q\"\\{,} '", "한"]
  static let posts = ["p1", "p2", "p\u{e9}", "pe\u{301}"]
  private var random: SeededGenerator

  init(_ random: SeededGenerator) {
    self.random = random
  }

  mutating func events(_ count: Int) -> [Event] {
    (0..<count).map { _ in event() }
  }

  private mutating func pick<T>(_ values: [T]) -> T {
    values[Int.random(in: 0..<values.count, using: &random)]
  }

  private mutating func chance(_ percent: Int) -> Bool {
    Int.random(in: 0..<100, using: &random) < percent
  }

  private mutating func owner(_ post: String) -> String {
    let position = Self.posts.firstIndex { $0.hasSameBytes(as: post) } ?? 0
    return chance(75) ? Self.people[position] : pick(Self.people)
  }

  private mutating func mentions() -> [String] {
    chance(50) ? [] : Self.people.filter { _ in chance(40) }
  }

  /// Three days in steps of four hours, sometimes with a finer offset.
  private mutating func minutes() -> Double {
    Double(Int.random(in: 0..<18, using: &random) * 240) + (chance(20) ? 0.000_1 : 0)
  }

  private mutating func notification(of user: String) -> UUID {
    let day = minute(minutes()).day
    let comment = "c\(Int.random(in: 0..<6, using: &random))"
    let (subject, source) = (pick(Self.posts), pick(Self.people))
    return switch Int.random(in: 0..<9, using: &random) {
    case 0: notificationID(recipient: user, kind: AlarmType.follow.code, subject: "", bucket: day)
    case 1:
      notificationID(
        recipient: user, kind: AlarmType.message.code, subject: pick(Self.people), bucket: day)
    case 2:
      notificationID(recipient: user, kind: AlarmType.comment.code, subject: comment, bucket: "")
    case 3:
      notificationID(
        recipient: user, kind: AlarmType.mention.code, subject: "comment:\(comment)", bucket: "")
    case 4:
      notificationID(
        recipient: user, kind: AlarmType.mention.code, subject: "post:\(pick(Self.posts))",
        bucket: "")
    case 5:
      notificationID(recipient: user, kind: pick([900, 902, 903]), subject: subject, bucket: day)
    case 6:
      notificationID(recipient: user, kind: 901, subject: subject, bucket: "", source: source)
    case 7:
      notificationID(recipient: user, kind: 13, subject: subject, bucket: "", source: subject)
    default:
      notificationID(
        recipient: user, kind: AlarmType.like.code, subject: pick(Self.posts), bucket: day)
    }
  }

  /// An alarm of one of `testKinds`. The source is not always the actor.
  private mutating func alarm(
    to recipient: String, by actor: String, _ subject: String, _ text: String, at minutes: Double
  ) -> Event {
    let source = chance(60) ? actor : pick(Self.people)
    return switch Int.random(in: 0..<4, using: &random) {
    case 0: raised("grouped", to: recipient, subject, source, by: actor, text, at: minutes)
    case 1:
      raised(
        "F901", to: recipient, subject, source, by: chance(50) ? actor : "",
        image: chance(50) ? text : "", arguments: ["title": text], at: minutes)
    case 2:
      raised(
        "gathered", to: recipient, subject, source,
        arguments: ["amount": chance(50) ? "7" : ""],
        at: minutes)
    default:
      raised(
        "F903", to: recipient, subject, source, by: chance(70) ? actor : "", text, at: minutes)
    }
  }

  private mutating func event() -> Event {
    let (someone, other, at) = (pick(Self.people), pick(Self.people), minutes())
    let aPost = pick(Self.posts)
    let owner = owner(aPost)
    let aComment = "c\(Int.random(in: 0..<6, using: &random))"
    let text = "text \(Int.random(in: 0..<1000, using: &random))"
    var event =
      switch Int.random(in: 0..<160, using: &random) {
      case 0..<18: like(someone, aPost, of: owner, at: at)
      case 18..<28: unlike(someone, aPost, of: owner, at: at)
      case 28..<40:
        comment(
          aComment, by: someone, on: aPost, of: owner, text, mentions: mentions(), at: at)
      case 40..<46: removal(aComment, by: someone, on: aPost, of: owner, at: at)
      case 46..<54: follow(someone, other, at: at)
      case 54..<58: unfollow(someone, other, at: at)
      case 58..<66:
        message(
          "m\(Int.random(in: 0..<9, using: &random))", someone, to: other, text, at: at)
      case 66..<74: post(aPost, by: owner, text, mentions: mentions(), at: at)
      case 74..<77: postDeletion(aPost, by: owner, at: at)
      case 77..<81: read(someone, notification(of: someone), at: at)
      case 81..<83: readAll(someone, at: at)
      case 83..<88: deletion(someone, notification(of: someone), at: at)
      case 88..<90: deleteAll(someone, at: chance(50) ? at : at / 4)
      case 90..<96: mute(someone, pick(AlarmType.allCases), at: at)
      case 96..<100: unmute(someone, pick(AlarmType.allCases), at: at)
      case 100..<115: alarm(to: someone, by: other, aPost, text, at: at)
      case 115..<120:
        withdrawn(
          pick(["grouped", "F901", "gathered", "F903"]), to: someone, aPost, pick(Self.people),
          at: at)
      case 120..<122: seen(someone, at: at)
      case 122..<124: mute(someone, pick(["grouped", "alone", "F902", "mixed"]), at: at)
      case 124: unmute(someone, pick(["grouped", "alone", "F902", "mixed"]), at: at)
      case 125..<128: block(someone, other, at: at)
      case 128..<131: unblock(someone, other, at: at)
      case 131..<133: mutePerson(someone, other, until: chance(50) ? minutes() : nil, at: at)
      case 133..<135: unmutePerson(someone, other, at: at)
      case 135..<142: subscribe(someone, to: chance(60) ? owner : other, at: at)
      case 142..<146: unsubscribe(someone, from: chance(60) ? owner : other, at: at)
      case 146..<148: mute(someone, "author-post", at: at)
      case 148..<150: unmute(someone, "F13", at: at)
      case 150..<155: readConversation(someone, with: other, at: at)
      default:
        disable(
          someone, pick(AlarmScope.allCases),
          kind: pick(["like", "F02", "grouped", "F901", "F13"]), subject: chance(80) ? aPost : "",
          actor: other, off: chance(60), at: at)
      }
    event.id = "\(UInt32.random(in: 0...UInt32.max, using: &random))"
    return event
  }
}
