import Events
import Foundation
import TestSupport

/// This many seconds after the start of 1 January 2024.
func at(_ seconds: Double) -> EventTime {
  EventTime(microseconds: 1_704_067_200_000_000 + Int64(seconds * 1_000_000))
}

/// The id of a notification; its number is recognisable in failures.
func notificationID(_ number: Int) -> String {
  let digits = String(number)
  return "00000000-0000-5000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
}

func profile(
  _ user: String, nickname: String = "", locale: String = "en", image: String = "",
  name: String = "", major: String = "", at seconds: Double = 0, id: String = "event"
) -> Event {
  Event(
    id: id, source: "test", time: at(seconds),
    payload: .profile(
      user, nickname: nickname, locale: locale, image: image, name: name, major: major))
}

/// A snapshot of the notification with this number.
func changed(
  _ number: Int, version counter: Int64 = 1, generation: Int64 = 1, to recipient: String = "reader",
  _ type: AlarmType = .like, by actor: String = "actor", and second: String = "",
  of count: Int64 = 1,
  post: String = "post", comment: String = "", head: String = "", raisedAt seconds: Double = 0
) -> Event {
  Event(
    id: "\(number):\(generation):\(counter)", source: "test", time: at(seconds),
    payload: .notificationChanged(
      NotificationChanged.with {
        $0.notification = notificationID(number)
        $0.recipient = recipient
        $0.type = Int32(type.code)
        $0.subject = post
        $0.actor = actor
        $0.secondActor = second
        $0.actorCount = count
        $0.contributionCount = count
        $0.post = post
        $0.comment = comment
        $0.headText = head
        $0.raisedAt = at(seconds).microseconds
        $0.generation = generation
        $0.counter = counter
      }))
}

/// The snapshot of a notification of a kind that is raised: actor and arguments as the kind allows.
func changedRaised(
  _ number: Int, version counter: Int64 = 1, generation: Int64 = 1, to recipient: String = "reader",
  kind: Int, by actor: String = "", arguments: [String: String] = [:], head: String = "",
  raisedAt seconds: Double = 0
) -> Event {
  Event(
    id: "\(number):\(generation):\(counter)", source: "test", time: at(seconds),
    payload: .notificationChanged(
      NotificationChanged.with {
        $0.notification = notificationID(number)
        ($0.recipient, $0.type, $0.actor) = (recipient, Int32(kind), actor)
        ($0.actorCount, $0.contributionCount) = (actor.isEmpty ? 0 : 1, 1)
        ($0.subject, $0.source, $0.arguments) = ("subject", "source", arguments)
        ($0.imageURL, $0.headText) = ("https://images.example/x", head)
        ($0.raisedAt, $0.generation, $0.counter) = (at(seconds).microseconds, generation, counter)
      }))
}

func retracted(
  _ number: Int, version counter: Int64, generation: Int64 = 1, to recipient: String = "reader"
) -> Event {
  Event(
    id: "\(number):\(generation):\(counter)", source: "test", time: at(0),
    payload: .notificationRetracted(
      NotificationRetracted.with {
        $0.notification = notificationID(number)
        $0.recipient = recipient
        $0.generation = generation
        $0.counter = counter
      }))
}
