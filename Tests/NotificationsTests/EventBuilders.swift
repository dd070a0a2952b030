import Events
import Foundation
import Notifications
import TestSupport

// Event builders. Times are minutes of 1 March 2026; ids are unique unless given.

let day: Int64 = 1_772_323_200_000_000

func minute(_ minutes: Double) -> EventTime {
  EventTime(microseconds: day + Int64(minutes * 60_000_000))
}

private func event(_ minutes: Double, _ payload: Payload) -> Event {
  Event(id: UUID().uuidString, source: "test", time: minute(minutes), payload: payload)
}

func like(_ actor: String, _ post: String, of owner: String, at minutes: Double) -> Event {
  event(minutes, .like(actor, post, of: owner))
}

func unlike(_ actor: String, _ post: String, of owner: String, at minutes: Double) -> Event {
  event(minutes, .unlike(actor, post, of: owner))
}

func comment(
  _ comment: String, by actor: String, on post: String, of owner: String, _ text: String = "",
  mentions: [String] = [], at minutes: Double
) -> Event {
  event(minutes, .comment(comment, by: actor, on: post, of: owner, text, mentions: mentions))
}

func removal(
  _ comment: String, by actor: String, on post: String, of owner: String, at minutes: Double
) -> Event {
  event(minutes, .commentRemoval(comment, by: actor, on: post, of: owner))
}

func follow(_ follower: String, _ followee: String, at minutes: Double) -> Event {
  event(minutes, .follow(follower, followee))
}

func unfollow(_ follower: String, _ followee: String, at minutes: Double) -> Event {
  event(minutes, .unfollow(follower, followee))
}

func message(
  _ message: String, _ sender: String, to receiver: String, _ text: String = "",
  at minutes: Double
) -> Event {
  event(minutes, .message(message, from: sender, to: receiver, text))
}

func post(
  _ post: String, by author: String, _ title: String = "", mentions: [String] = [],
  at minutes: Double
) -> Event {
  event(minutes, .post(post, by: author, title: title, mentions: mentions))
}

func postDeletion(_ post: String, by author: String, at minutes: Double) -> Event {
  event(minutes, .postDeletion(post, by: author))
}

func read(_ user: String, _ notification: UUID, at minutes: Double) -> Event {
  event(minutes, .alarmRead(.with { ($0.user, $0.notification) = (user, notification.uuidString) }))
}

func readAll(_ user: String, at minutes: Double) -> Event {
  event(minutes, .alarmReadAll(.with { $0.user = user }))
}

func deletion(_ user: String, _ notification: UUID, at minutes: Double) -> Event {
  let id = notification.uuidString.lowercased()
  return event(minutes, .alarmDeleted(.with { ($0.user, $0.notification) = (user, id) }))
}

func deleteAll(_ user: String, at minutes: Double) -> Event {
  event(minutes, .alarmAllDeleted(.with { $0.user = user }))
}

func mute(_ user: String, _ type: AlarmType, at minutes: Double) -> Event {
  mute(user, type.rawValue, at: minutes)
}

func unmute(_ user: String, _ type: AlarmType, at minutes: Double) -> Event {
  unmute(user, type.rawValue, at: minutes)
}

func mute(_ user: String, _ kind: String, at minutes: Double) -> Event {
  event(minutes, .mute(user, kind))
}

func unmute(_ user: String, _ kind: String, at minutes: Double) -> Event {
  event(minutes, .unmute(user, kind))
}

/// `alarm.disabled`, or `alarm.enabled` if `off` is false.
func disable(
  _ user: String, _ scope: AlarmScope, kind: String = "", subject: String = "", actor: String = "",
  off: Bool = true, at minutes: Double
) -> Event {
  event(
    minutes,
    off
      ? .alarmDisabled(
        .with {
          ($0.user, $0.scope, $0.kind) = (user, scope.rawValue, kind)
          ($0.subject, $0.actor) = (subject, actor)
        })
      : .alarmEnabled(
        .with {
          ($0.user, $0.scope, $0.kind) = (user, scope.rawValue, kind)
          ($0.subject, $0.actor) = (subject, actor)
        }))
}

func block(_ user: String, _ person: String, at minutes: Double) -> Event {
  event(minutes, .personBlocked(.with { ($0.user, $0.person) = (user, person) }))
}

func unblock(_ user: String, _ person: String, at minutes: Double) -> Event {
  event(minutes, .personUnblocked(.with { ($0.user, $0.person) = (user, person) }))
}

func mutePerson(
  _ user: String, _ person: String, until end: Double? = nil, at minutes: Double
) -> Event {
  event(
    minutes,
    .personMuted(
      .with {
        ($0.user, $0.person, $0.until) = (user, person, end.map { minute($0).rfc3339 } ?? "")
      }))
}

func unmutePerson(_ user: String, _ person: String, at minutes: Double) -> Event {
  event(minutes, .personUnmuted(.with { ($0.user, $0.person) = (user, person) }))
}

func subscribe(_ subscriber: String, to author: String, at minutes: Double) -> Event {
  event(
    minutes, .authorSubscribed(.with { ($0.author, $0.subscriber) = (author, subscriber) }))
}

func unsubscribe(_ subscriber: String, from author: String, at minutes: Double) -> Event {
  event(
    minutes, .authorUnsubscribed(.with { ($0.author, $0.subscriber) = (author, subscriber) }))
}

func readConversation(_ user: String, with peer: String, at minutes: Double) -> Event {
  event(minutes, .read(user, peer))
}

func seen(_ user: String, at minutes: Double) -> Event {
  event(minutes, .alarmSeen(.with { $0.user = user }))
}

func raised(
  _ kind: String, to recipient: String, _ subject: String = "s", _ source: String,
  by actor: String = "", _ text: String = "", image: String = "",
  arguments: [String: String] = [:], at minutes: Double
) -> Event {
  event(
    minutes,
    .alarmRaised(
      .with {
        ($0.recipient, $0.kind, $0.subject, $0.source) = (recipient, kind, subject, source)
        ($0.actor, $0.headText, $0.imageURL, $0.arguments) = (actor, text, image, arguments)
      }))
}

func withdrawn(
  _ kind: String, to recipient: String, _ subject: String = "s", _ source: String,
  at minutes: Double
) -> Event {
  event(
    minutes,
    .alarmWithdrawn(
      .with {
        ($0.recipient, $0.kind, $0.subject, $0.source) = (recipient, kind, subject, source)
      }))
}

func erasure(_ user: String, at minutes: Double) -> Event {
  event(minutes, .userErased(.with { $0.user = user }))
}
