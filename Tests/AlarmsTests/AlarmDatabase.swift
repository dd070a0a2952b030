import AlarmText
import Events
import Foundation
import Handling
import Model
import Postgres
import TestSupport

@testable import Alarms

/// A separate database, with connections that work on it as alarm-worker does.
struct AlarmDatabase {
  let url: String
  /// With the owner's role.
  let admin: Connection
  /// With the role of alarm-worker.
  let worker: Connection
  let handler: Handler

  /// - Parameter backlogLimit: small, so that even a few alarms take several pieces.
  init(backlogLimit: Int32 = 500, engine: AlarmTextEngine = .builtIn) throws {
    url = try TestDatabase.fresh()
    admin = try Connection(url, applicationName: "admin")
    // The lineage: snapshots of two generations are valid here.
    try admin.query("INSERT INTO notification_generations (generation) VALUES (2)")
    worker = try Self.worker(url)
    handler = Self.handler(backlogLimit: backlogLimit, engine: engine)
  }

  static func handler(backlogLimit: Int32, engine: AlarmTextEngine = .builtIn) -> Handler {
    var handler = alarmHandler(engine: engine)
    handler.backlog = {
      alarmBacklog(renderings: renderAgainWork(engine: engine, limit: backlogLimit))
    }
    return handler
  }

  static func worker(_ url: String) throws -> Connection {
    let worker = try Connection(url, applicationName: "worker")
    try worker.script("SET ROLE magpie_alarm; SET lock_timeout = '60s'")
    return worker
  }

  /// Applies events of one topic as one batch.
  func apply(_ events: Event...) throws { try apply(events) }

  func apply(_ events: [Event]) throws {
    guard let topic = events.first?.topic else { return }
    try handler.applyDirectly(events, topic: topic, on: worker)
  }

  /// Runs the backlog until it is empty; returns the number of pieces.
  @discardableResult
  func drain() throws -> Int {
    var steps = 1
    while try handler.runBacklogDirectly(on: worker).hasMore { steps += 1 }
    return steps
  }

  func text(_ number: Int) throws -> String? {
    try admin.query(
      "SELECT text FROM alarms WHERE notification_id = $1",
      [.uuid(UUID(uuidString: notificationID(number)))]
    ).first?.textOrNil(0)
  }

  func pendingCount() throws -> Int {
    try admin.query("SELECT count(*) FROM pending_renders").only.int(0)
  }

  /// All alarms, one line each, in id order.
  func alarms() throws -> [String] {
    try admin.query(
      """
      SELECT concat_ws(
        '|', notification_id, recipient, generation, counter, retracted, type, actor,
        '2:' || second_actor, actor_count, contribution_count, 'p:' || post_id, 'c:' || comment_id,
        head_text, (extract(epoch FROM raised_at) * 1000000)::bigint, deep_link, badge_icon,
        locale, text, segments::text, spans::text, legacy_message, legacy_head_text,
        legacy_from_nick_name)
      FROM rendered_alarms ORDER BY notification_id
      """
    ).map { try $0.text(0) }
  }

  /// The expected texts, independent of the order of events: the newest snapshots, rendered with
  /// the newest profiles by the engine directly.
  func expectedTexts(_ events: [Event], engine: AlarmTextEngine = .builtIn) throws -> [String] {
    var profiles: [BytewiseString: ModelProfile] = [:]
    for profile in Model(events).allProfiles { profiles[BytewiseString(profile.user)] = profile }
    var newest: [String: (version: (Int64, Int64), data: NotificationChanged?)] = [:]
    for event in events {
      switch event.payload {
      case .notificationChanged(let data):
        let version = (data.generation, data.counter)
        if let known = newest[data.notification], known.version >= version { break }
        newest[data.notification] = (version, data)
      case .notificationRetracted(let data):
        let version = (data.generation, data.counter)
        if let known = newest[data.notification], known.version >= version { break }
        newest[data.notification] = (version, nil)
      default: break
      }
    }
    return try newest.sorted { $0.key < $1.key }.map { id, snapshot in
      guard let data = snapshot.data else { return "\(id)|retracted" }
      func actor(_ id: String) -> AlarmText.Actor {
        let profile = profiles[BytewiseString(id)]
        return AlarmText.Actor(
          id: id, nickname: profile?.nickname ?? "", name: profile?.name ?? "")
      }
      let alarm = try engine.render(
        AlarmInput(
          code: AlarmCode(Int(data.type))!, actor: data.actor.isEmpty ? nil : actor(data.actor),
          other: data.secondActor.isEmpty ? nil : actor(data.secondActor),
          actorCount: Int(data.actorCount), count: Int(data.contributionCount),
          headText: data.headText, arguments: data.arguments),
        locale: profiles[BytewiseString(data.recipient)]?.locale ?? "")
      return [
        id, alarm.locale, alarm.text, alarm.legacy.message, alarm.legacy.headText,
        alarm.legacy.fromNickName, "\(alarm.segments.count) segments",
        alarm.spans.map { "\($0.start)+\($0.length)\($0.actorID ?? "")" }.joined(separator: ","),
      ].joined(separator: "|")
    }
  }

  /// The alarms in the format of `expectedTexts`.
  func texts() throws -> [String] {
    try admin.query(
      """
      SELECT CASE WHEN retracted THEN notification_id || '|retracted' ELSE concat_ws(
        '|', notification_id, locale, text, legacy_message, legacy_head_text,
        legacy_from_nick_name, jsonb_array_length(segments) || ' segments',
        (
          SELECT coalesce(string_agg(
            concat(s ->> 'start', '+', s ->> 'length', s ->> 'actor'), ',' ORDER BY n), '')
          FROM jsonb_array_elements(spans) WITH ORDINALITY AS x (s, n)
        )) END
      FROM rendered_alarms ORDER BY notification_id
      """
    ).map { try $0.text(0) }
  }
}
