import AlarmText
import Events
import Foundation
import Kinds
import Postgres

/// A snapshot with everything that its row gets.
struct Alarm: Sendable {
  var snapshot: Snapshot
  /// Nil if the snapshot is a retraction.
  var rendered: RenderedAlarm?
  var deepLink: String?
  var badgeIcon: String?
  var highlightStyle: String?

  /// - Parameter kind: of the snapshot's content.
  init(_ snapshot: Snapshot, rendered: RenderedAlarm?, kind: AlarmKind?) {
    (self.snapshot, self.rendered) = (snapshot, rendered)
    deepLink = kind?.deepLink(snapshot.linkFields)
    (badgeIcon, highlightStyle) = (kind?.badgeIcon, kind?.highlightStyle)
  }

  /// A stored alarm, from a row of `take_alarms_to_publish`. Its link and icon are not made again.
  init(_ row: Row, rendered: RenderedAlarm?) throws {
    snapshot = try Snapshot(row)
    self.rendered = rendered
    deepLink = try row.textOrNil("deep_link")
    badgeIcon = try row.textOrNil("badge_icon")
    highlightStyle = try row.textOrNil("highlight_style")
  }
}

/// The events that publish the alarms of which a statement wrote a row, in the order of their versions. The statement
/// draws these in an order that its plan decides.
///
/// - Parameters:
///   - alarms: the alarms that the statement was given.
///   - written: the id and version of each row that it wrote. An alarm without a row lost against a
///     newer one, which has been published.
///   - now: the time of events that no event causes.
func alarmEvents(_ alarms: [Alarm], written: Rows, now: EventTime? = nil) throws -> [Event] {
  var versions: [UUID: Int64] = [:]
  versions.reserveCapacity(written.count)
  for row in written { versions[try row.uuid(0)] = try row.int8(1) }
  return alarms.compactMap { alarm in
    versions[alarm.snapshot.id].map { (version: $0, alarm: alarm) }
  }
  .sorted { $0.version < $1.version }
  .map { $0.alarm.event(version: $0.version, now: now) }
}

extension Alarm {
  fileprivate func event(version: Int64, now: EventTime?) -> Event {
    let id = snapshot.id.uuidString.lowercased()
    return Event(
      id: "\(id):\(version)", source: "magpie/alarm-worker",
      time: snapshot.time ?? now ?? Limits.earliestTime,
      payload: payload(id, version), trace: snapshot.trace)
  }

  private func payload(_ id: String, _ version: Int64) -> Payload {
    guard let content = snapshot.content, let rendered else {
      return .alarmRetracted(
        .with {
          ($0.notification, $0.recipient, $0.version) = (id, snapshot.recipient, version)
          ($0.generation, $0.counter) = (snapshot.generation, snapshot.counter)
        })
    }
    var data = AlarmChanged.with {
      ($0.notification, $0.recipient, $0.version) = (id, snapshot.recipient, version)
      ($0.kind, $0.locale) = (content.code.description, rendered.locale)
      ($0.badgeIcon, $0.highlightStyle) = (badgeIcon ?? "", highlightStyle ?? "")
      $0.imageURL = snapshot.imageURL ?? ""
      $0.station = content.arguments["station"] ?? ""
      ($0.actor, $0.secondActor) = (content.actor ?? "", content.secondActor ?? "")
      ($0.actorCount, $0.contributionCount) = (content.actorCount, content.contributionCount)
      ($0.post, $0.comment) = (snapshot.post ?? "", snapshot.comment ?? "")
      ($0.headText, $0.raisedAt) = (content.headText, snapshot.raisedAt ?? 0)
      ($0.generation, $0.counter) = (snapshot.generation, snapshot.counter)
    }
    let text = rendered.text
    if isPublishable(rendered, text: text) {
      data.text = text
      data.segments = rendered.segments.map { segment in
        .with {
          ($0.kind, $0.text, $0.actor) = (segment.kind.name, segment.text, segment.actorID ?? "")
        }
      }
      data.spans = rendered.spans.map { span in
        .with {
          ($0.kind, $0.actor) = (span.kind.name, span.actorID ?? "")
          ($0.start, $0.length) = (Int32(clamping: span.start), Int32(clamping: span.length))
        }
      }
      (data.legacyMessage, data.legacyHeadText) = (
        rendered.legacy.message, rendered.legacy.headText
      )
      data.legacyFromNickName = rendered.legacy.fromNickName
      data.deepLink = deepLink ?? ""
    }
    return .alarmChanged(data)
  }

  /// Whether the rendered fields are within an event's bounds. Only sentences of an operator's
  /// catalog that repeat arguments hundreds of times, and such links, are not.
  private func isPublishable(_ rendered: RenderedAlarm, text: String) -> Bool {
    // The legacy message adds brackets around a nickname and a colon to a part of the text.
    text.utf8.count <= Limits.alarmTextBytes - 8
      && rendered.segments.count <= Limits.alarmSegments
      && (deepLink?.utf8.count ?? 0) <= Limits.alarmTextBytes
  }
}
