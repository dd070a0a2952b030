import Events
import Notifications
import Pipeline
import Postgres
import TestSupport
import Testing

@testable import Alarms

@Suite("With the notification-worker's own snapshots")
struct WithNotificationsTests {
  @Test("likes, comments, undos, readings and deletions leave nothing for verify_alarms to find")
  func endToEnd() throws {
    var random = SeededGenerator()
    let database = try AlarmDatabase(backlogLimit: 5)
    let notifier = try Connection(database.url, applicationName: "notifier")
    try notifier.script("SET ROLE magpie_notification")
    let people = (0..<6).map { "p\($0)" }
    var snapshots: [Event] = []
    for number in 0..<400 {
      let (actor, owner) = (
        people.randomElement(using: &random)!, people.randomElement(using: &random)!
      )
      let post = "post of \(owner)"
      let payload: Payload =
        switch Int.random(in: 0..<12, using: &random) {
        case 0...3:
          .likeCreated(.with { ($0.actor, $0.post, $0.postOwner) = (actor, post, owner) })
        case 4: .likeRemoved(.with { ($0.actor, $0.post, $0.postOwner) = (actor, post, owner) })
        case 5, 6:
          .commentCreated(
            .with {
              ($0.comment, $0.actor, $0.post, $0.postOwner) = ("c\(number)", actor, post, owner)
              $0.text = "comment \(number)"
              $0.mentions = [people.randomElement(using: &random)!]
            })
        case 7: .followCreated(.with { ($0.follower, $0.followee) = (actor, owner) })
        case 8: .followRemoved(.with { ($0.follower, $0.followee) = (actor, owner) })
        case 9:
          .messageSent(
            .with {
              ($0.message, $0.sender, $0.receiver, $0.text) = ("m\(number)", actor, owner, "hi")
            })
        case 10: .alarmReadAll(.with { $0.user = owner })
        default:
          number % 7 == 0
            ? .alarmAllDeleted(.with { $0.user = owner })
            : .profileChanged(
              .with {
                ($0.user, $0.nickname, $0.locale) = (
                  owner, "nick \(number)", ["ko", "en"].randomElement(using: &random)!
                )
              })
        }
      let event = Event(
        id: "e\(number)", source: "test", time: at(Double(number) * 997), payload: payload)
      if event.topic == .profiles {
        try database.apply(event)
      } else {
        snapshots += try notificationHandler.applyDirectly(
          [event], topic: event.topic, on: notifier
        ).events
      }
    }
    for snapshot in snapshots.shuffled(using: &random) { try database.apply(snapshot) }
    try database.drain()
    let violations = try database.admin.query("SELECT * FROM verify_alarms()").map {
      "\(try $0.text(0)): \(try $0.text(1)), expected \(try $0.text(2)), found \(try $0.text(3))"
    }
    #expect(violations == [])
    #expect(try database.admin.query("SELECT count(*) FROM shown_alarms").only.int(0) > 0)
  }
}
