import Events
import Handling
import Kinds
import Postgres

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Publishes the notifications again that erased events alone would have touched.
///
/// A transaction that applied one of these events and failed after publishing has left a snapshot in the log that
/// names the erased person, under a version above those committed. The next attempt does not apply the event, and the
/// sweep does not find its contribution, because it was rolled back. So the true state is published under a later
/// version here, as the event itself would do (decision 0004).
///
/// This suffices. An event touches its own contribution's notification, computed here from the event alone, and
/// notifications of contributions that are stored: those of the person are touched by the sweep, and those of others
/// by the events from which they came. Pieces of the backlog that failed are repeated by their queue's rows, for
/// which the sweep waits. Notifications of the erased person are not touched: consumers keep them out themselves.
func afterErasedWork(_ events: [ErasedEvent], kinds: AlarmKinds) -> Work {
  var touched: [Touched] = []
  for erased in events {
    touched += notifications(of: erased.event, kinds).filter { !erased.isErased($0.recipient) }
  }
  guard !touched.isEmpty else { return Work() }
  let people = distinct(touched.map(\.recipient))
  var work = Work([planByKey(keepsPlans: true), lockRecipients(people)])
  let recomputed = work.add(
    recomputeNotifications(
      recipients: people,
      touched: """
        SELECT t.notification_id, t.recipient COLLATE "C", t.type, t.subject COLLATE "C"
        FROM unnest($2::uuid[], $3::text[], $4::smallint[], $5::text[])
          AS t (notification_id, recipient, type, subject)
        """,
      [
        .uuidArray(touched.map(\.id)), .textArray(touched.map(\.recipient)),
        .int2Array(touched.map { Int16($0.kind) }), .textArray(touched.map(\.subject)),
      ]))
  work.add(
    Statement(
      sweepAgain("SELECT unnest($1::text[])", worker: "notification"), [.textArray(people)]))
  work.finish = { results in
    try snapshots(results[recomputed], causes: Causes([], otherwise: .now))
  }
  return work
}

private struct Touched {
  var recipient: String
  var kind: Int
  var subject: String
  var id: UUID

  /// - Parameters:
  ///   - day: of a kind that is grouped.
  ///   - source: of a raised kind that is not.
  init(
    _ recipient: String, _ kind: Int, _ subject: String, day: EventTime? = nil,
    source: String? = nil
  ) {
    (self.recipient, self.kind, self.subject) = (recipient, kind, subject)
    id = notificationID(
      recipient: recipient, kind: kind, subject: subject, bucket: day?.day ?? "", source: source)
  }

  init(_ recipient: String, _ type: AlarmType, _ subject: String, day: EventTime? = nil) {
    self.init(recipient, type.code, subject, day: day)
  }
}

/// The notifications to which the event alone would contribute, but for those of subscribers, which the backlog
/// writes.
private func notifications(of event: Event, _ kinds: AlarmKinds) -> [Touched] {
  switch event.payload {
  case .likeCreated(let data): [Touched(data.postOwner, .like, data.post, day: event.time)]
  case .followCreated(let data): [Touched(data.followee, .follow, "", day: event.time)]
  case .messageSent(let data): [Touched(data.receiver, .message, data.sender, day: event.time)]
  case .commentCreated(let data):
    [Touched(data.postOwner, .comment, data.comment)]
      + data.mentions.map { Touched($0, .mention, "comment:\(data.comment)") }
  case .postPublished(let data): data.mentions.map { Touched($0, .mention, "post:\(data.post)") }
  case .alarmRaised(let data):
    kinds.kind(data.kind).map { kind in
      [
        Touched(
          data.recipient, kind.code.number, data.subject, day: kind.isGrouped ? event.time : nil,
          source: kind.isGrouped ? nil : data.source)
      ]
    } ?? []
  default: []
  }
}
