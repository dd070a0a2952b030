import Events
import Foundation
import Notifications
import TestSupport

/// Events of a few people, some of whom are erased, and who may come back. Facts name the same people in all of their
/// events, as those of a backend do.
struct ErasureHistory {
  static let people = ["person-a", "person-b", "person-c", "person-x", "person-y"]
  private static let posts = ["p0", "p1", "p2", "p3", "p4"]
  private static let comments = (0..<8).map { "c\($0)" }
  private static let messages = (0..<14).map { "m\($0)" }

  /// What happened, without the erasures.
  private(set) var events: [Event] = []
  private(set) var erasures: [Event] = []
  private var random: SeededGenerator
  private var writers: [String: (first: String, second: String)] = [:]

  init(seed: UInt64, count: Int) {
    random = SeededGenerator(seed: seed)
    for comment in Self.comments { writers[comment] = (pick(Self.people), pick(Self.posts)) }
    for message in Self.messages { writers[message] = (pick(Self.people), pick(Self.people)) }
    for _ in 0..<count {
      var event = event()
      event.id = "\(UInt32.random(in: 0...UInt32.max, using: &random))"
      events.append(event)
    }
    for person in Self.people.shuffled(using: &random).prefix(Int.random(in: 1...2, using: &random))
    {
      for _ in 0..<Int.random(in: 1...2, using: &random) {
        erasures.append(erasure(person, at: chance(30) ? 40_000 : minutes()))
      }
    }
    for (person, at) in erasedAt.sorted(by: { $0.key < $1.key }) { leaveNoDoubt(person, at) }
  }

  /// When each person was erased for the last time.
  var erasedAt: [String: EventTime] {
    Dictionary(erasures.map { ($0.key, $0.time) }, uniquingKeysWith: max)
  }

  /// What is left after all erasures.
  var left: [Event] {
    let erasedAt = erasedAt
    return events.compactMap { event in
      event.forgetting { id in erasedAt[id].map { event.causedAt <= $0 } ?? false }
    }
  }

  /// The erased people who did not come back.
  var gone: [String] {
    let people = Set(left.flatMap(\.people))
    return erasedAt.keys.filter { !people.contains($0) }
  }

  /// A fact does not remember when it was made again after an erasure, and then withdrawn or changed (decision 0040).
  /// So at most one event makes it again.
  private mutating func leaveNoDoubt(_ person: String, _ erasedAt: EventTime) {
    var kept: [Event] = []
    for (fact, events) in Dictionary(grouping: events, by: \.fact) {
      let before = events.filter { $0.causedAt <= erasedAt }
      let after = events.filter { $0.causedAt > erasedAt }
      if fact == nil || !before.contains(where: { $0.people.contains(person) }) {
        kept += events
      } else {
        kept += before + after.filter(\.makesFact).prefix(1)
      }
    }
    let ids = Set(kept.map(\.id))
    events.removeAll { !ids.contains($0.id) }
  }

  private mutating func pick<T>(_ values: [T]) -> T {
    values[Int.random(in: 0..<values.count, using: &random)]
  }

  private mutating func chance(_ percent: Int) -> Bool {
    Int.random(in: 0..<100, using: &random) < percent
  }

  /// Three days in steps of four hours.
  private mutating func minutes() -> Double {
    Double(Int.random(in: 0..<18, using: &random) * 240 + Int.random(in: 0..<3, using: &random))
  }

  private func owner(_ post: String) -> String {
    Self.people[Self.posts.firstIndex(of: post) ?? 0]
  }

  private mutating func event() -> Event {
    let (someone, other, at) = (pick(Self.people), pick(Self.people), minutes())
    let aPost = pick(Self.posts)
    let text = "text \(Int.random(in: 0..<1000, using: &random))"
    let mentions = chance(40) ? [] : Self.people.filter { _ in chance(35) }
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<14: return like(someone, aPost, of: owner(aPost), at: at)
    case 14..<20: return unlike(someone, aPost, of: owner(aPost), at: at)
    case 20..<36:
      let comment = pick(Self.comments)
      let (actor, post) = writers[comment] ?? ("", "")
      return chance(70)
        ? NotificationsTests.comment(
          comment, by: actor, on: post, of: owner(post), text, mentions: mentions, at: at)
        : removal(comment, by: actor, on: post, of: owner(post), at: at)
    case 36..<42: return follow(someone, other, at: at)
    case 42..<45: return unfollow(someone, other, at: at)
    case 45..<53:
      let message = pick(Self.messages)
      let (sender, receiver) = writers[message] ?? ("", "")
      return NotificationsTests.message(message, sender, to: receiver, text, at: at)
    case 53..<61: return post(aPost, by: owner(aPost), text, mentions: mentions, at: at)
    case 61..<63: return postDeletion(aPost, by: owner(aPost), at: at)
    case 63..<66:
      var rings = raised("F903", to: someone, aPost, "ring \(text)", by: other, text, at: at)
      rings.cause(minute(at - Double(Int.random(in: 1...4_000, using: &random))))
      return rings
    case 66..<72:
      let kind = pick(["grouped", "F903"])
      // Somebody else than the actor, or without one, where the subject is not the post.
      let subject = chance(50) ? aPost : "of \(aPost)"
      let actor = subject == aPost ? other : kind == "F903" && aPost < "p2" ? "" : owner(aPost)
      return chance(70)
        ? raised(kind, to: someone, subject, other, by: actor, text, at: at)
        : withdrawn(kind, to: someone, subject, other, at: at)
    case 72..<75: return mute(someone, pick(AlarmType.allCases), at: at)
    case 75..<77: return unmute(someone, pick(AlarmType.allCases), at: at)
    case 77..<80: return block(someone, other, at: at)
    case 80..<82: return unblock(someone, other, at: at)
    case 82..<84: return mutePerson(someone, other, at: at)
    case 84: return unmutePerson(someone, other, at: at)
    case 85..<91: return subscribe(someone, to: owner(aPost), at: at)
    case 91..<93: return unsubscribe(someone, from: owner(aPost), at: at)
    case 93..<95: return readConversation(someone, with: other, at: at)
    case 95: return readAll(someone, at: at)
    case 96: return deleteAll(someone, at: at / 4)
    case 97: return deletion(someone, notificationID(of: someone, aPost, at), at: at)
    default:
      let isAboutMessages = chance(50)
      return disable(
        someone, .subject, kind: isAboutMessages ? "message" : "like",
        subject: isAboutMessages ? other : aPost,
        // No part of this scope.
        actor: chance(50) ? pick(Self.people) : "", off: chance(60), at: at)
    }
  }

  private func notificationID(of person: String, _ post: String, _ at: Double) -> UUID {
    Notifications.notificationID(
      recipient: person, kind: AlarmType.like.code, subject: post, bucket: minute(at).day)
  }
}

extension Event {
  /// The fact that the event makes or withdraws; nil for other events.
  fileprivate var fact: [String]? {
    switch payload {
    case .likeCreated(let data): ["like", data.post, data.actor]
    case .likeRemoved(let data): ["like", data.post, data.actor]
    case .commentCreated(let data): ["comment", data.comment]
    case .commentRemoved(let data): ["comment", data.comment]
    case .followCreated(let data): ["follow", data.follower, data.followee]
    case .followRemoved(let data): ["follow", data.follower, data.followee]
    case .messageSent(let data): ["message", data.message]
    case .postPublished(let data): ["post", data.post]
    case .postDeleted(let data): ["post", data.post]
    case .alarmRaised(let data): ["alarm", data.kind, data.recipient, data.subject, data.source]
    case .alarmWithdrawn(let data): ["alarm", data.kind, data.recipient, data.subject, data.source]
    default: nil
    }
  }

  fileprivate mutating func cause(_ time: EventTime) {
    guard case .alarmRaised(var data) = payload else { return }
    data.causedAt = time.rfc3339
    payload = .alarmRaised(data)
  }

  fileprivate var makesFact: Bool {
    switch payload {
    case .likeCreated, .commentCreated, .followCreated, .messageSent, .postPublished, .alarmRaised:
      true
    default: false
    }
  }
}
