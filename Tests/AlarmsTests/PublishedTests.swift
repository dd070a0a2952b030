import AlarmText
import Events
import Foundation
import Handling
import Postgres
import TestSupport
import Testing

@testable import Alarms

/// The events of alarm-changes, in the order of publication, including those of dead attempts.
private final class ChangeLog {
  private(set) var events: [Event] = []

  func append(_ more: [Event]) { events += more }

  /// The newest event of each alarm, of those up to the alarm's version in `versions`, or of all.
  func newest(upTo versions: [String: Int64]? = nil) -> [String: (version: Int64, line: String)] {
    var newest: [String: (version: Int64, line: String)] = [:]
    for event in events {
      guard let change = Change(event) else { continue }
      if let versions, change.version > versions[change.id] ?? 0 { continue }
      if let known = newest[change.id], known.version >= change.version { continue }
      newest[change.id] = (change.version, change.line)
    }
    return newest
  }
}

/// An event in the form in which the test reads the alarm's row.
private struct Change {
  var id: String
  var version: Int64
  var line: String

  init?(_ event: Event) {
    switch event.payload {
    case .alarmChanged(let data):
      (id, version) = (data.notification, data.version)
      let segments = data.segments.map { "\($0.kind):\($0.text):\($0.actor)" }
      let spans = data.spans.map { "\($0.kind):\($0.start)+\($0.length):\($0.actor)" }
      line =
        ([
          data.recipient, data.kind, data.locale, data.text, segments.joined(separator: ","),
          spans.joined(separator: ","), data.legacyMessage, data.legacyHeadText,
          data.legacyFromNickName, data.deepLink, data.badgeIcon, data.highlightStyle,
          data.imageURL, data.station, data.actor, data.secondActor, "\(data.actorCount)",
          "\(data.contributionCount)", data.post, data.comment, data.headText, "\(data.raisedAt)",
          "\(data.generation)", "\(data.counter)",
        ] as [String]).joined(separator: "|")
    case .alarmRetracted(let data):
      (id, version) = (data.notification, data.version)
      line = "\(data.recipient)|retracted|\(data.generation)|\(data.counter)"
    default: return nil
    }
  }
}

extension AlarmDatabase {
  /// The version and content of every alarm that has been published.
  fileprivate func published() throws -> [String: (version: Int64, line: String)] {
    let rows = try admin.query(
      """
      SELECT notification_id::text, version, CASE
        WHEN retracted THEN concat_ws('|', recipient, 'retracted', generation, counter)
        ELSE concat_ws('|', recipient, kind_code(type), locale, text,
          (SELECT coalesce(string_agg(concat_ws(':', s ->> 'kind', s ->> 'text', coalesce(s ->> 'actor', '')),
            ',' ORDER BY n), '') FROM jsonb_array_elements(segments) WITH ORDINALITY AS x (s, n)),
          (SELECT coalesce(string_agg(concat(s ->> 'kind', ':', s ->> 'start', '+', s ->> 'length', ':',
            s ->> 'actor'), ',' ORDER BY n), '') FROM jsonb_array_elements(spans) WITH ORDINALITY AS x (s, n)),
          legacy_message, legacy_head_text, legacy_from_nick_name, coalesce(deep_link, ''),
          coalesce(badge_icon, ''), coalesce(highlight_style, ''), coalesce(image_url, ''),
          coalesce(arguments ->> 'station', ''), coalesce(actor, ''), coalesce(second_actor, ''),
          actor_count, contribution_count, coalesce(post_id, ''), coalesce(comment_id, ''), head_text,
          (extract(epoch FROM raised_at) * 1000000)::bigint, generation, counter) END
      FROM rendered_alarms WHERE version > 0
      """)
    var result: [String: (version: Int64, line: String)] = [:]
    for row in rows { result[try row.text(0)] = (try row.int8(1), try row.text(2)) }
    return result
  }

  /// Runs the backlog until it is empty; returns the number of pieces.
  @discardableResult
  fileprivate func drain(into log: ChangeLog) throws -> Int {
    var pieces = 0
    var hasMore = true
    while hasMore {
      let outcome = try handler.runBacklogDirectly(on: worker)
      log.append(outcome.events)
      hasMore = outcome.hasMore
      pieces += 1
    }
    return pieces
  }

  /// Runs a transaction that publishes and then fails.
  fileprivate func fail(_ work: Work, into log: ChangeLog) throws {
    try worker.query("BEGIN")
    log.append(try work.run(on: worker).events)
    try worker.query("ROLLBACK")
  }
}

private func differences(
  _ rows: [String: (version: Int64, line: String)],
  _ events: [String: (version: Int64, line: String)]
) -> [String] {
  rows.compactMap { id, row in
    guard let event = events[id] else { return "\(id) version \(row.version) is not published" }
    if event != row { return "\(id): row \(row), event \(event)" }
    return nil
  }
}

@Suite("alarm-worker publishes what it renders")
struct PublishedTests {
  @Test(
    "in any order, with attempts that publish and fail, each row's version is published with the row's content, and nothing newer remains once every attempt was repeated"
  )
  func property() throws {
    var random = SeededGenerator()
    var phantoms = 0
    for _ in 0..<2 {
      let story = Story(using: &random)
      let database = try AlarmDatabase(backlogLimit: Int32.random(in: 1...20, using: &random))
      let backlog = try #require(database.handler.backlog)
      let log = ChangeLog()
      for batch in story.batches(using: &random) {
        let topic = batch[0].topic
        while Int.random(in: 0..<4, using: &random) == 0 {
          // The attempt may take fewer or more records than the one that commits.
          let part = Array(batch.prefix(Int.random(in: 1...batch.count, using: &random)))
          try database.fail(database.handler.apply(topic, part), into: log)
          phantoms += 1
        }
        log.append(
          try database.handler.applyDirectly(batch, topic: topic, on: database.worker).events)
        if Int.random(in: 0..<3, using: &random) == 0 {
          try database.fail(backlog(), into: log)
          // Not repeated yet: a rename may come first.
        }
        if Int.random(in: 0..<3, using: &random) == 0 {
          log.append(try database.handler.runBacklogDirectly(on: database.worker).events)
        }
        let rows = try database.published()
        #expect(differences(rows, log.newest(upTo: rows.mapValues(\.version))) == [])
      }
      try database.drain(into: log)
      let rows = try database.published()
      #expect(rows.count == (try database.alarms().count))
      #expect(differences(rows, log.newest()) == [])
      #expect(rows.count == log.newest().count)
      // Every event is one that a consumer accepts, and its id is unique.
      for event in log.events {
        let wire = try EventCodec.encode(event)
        #expect(try EventCodec.decode(wire, topic: .alarmChanges, now: .now) == event)
        #expect(event.key == event.payload.key)
      }
      #expect(Set(log.events.map(\.id)).count == log.events.count)
    }
    #expect(phantoms > 10)
  }

  @Test("a snapshot that is applied again or is older than the alarm is not published")
  func replayed() throws {
    let database = try AlarmDatabase()
    func apply(_ event: Event) throws -> [Event] {
      try database.handler.applyDirectly(
        [event], topic: .notificationChanges, on: database.worker
      ).events
    }
    let first = try apply(changed(1, version: 5))
    #expect(first.map(\.type) == [.alarmChanged])
    #expect(try apply(changed(1, version: 5)).isEmpty)
    #expect(try apply(changed(1, version: 4)).isEmpty)
    #expect(try apply(retracted(1, version: 3)).isEmpty)
    let second = try apply(retracted(1, version: 6))
    #expect(second.map(\.type) == [.alarmRetracted])
    #expect(try apply(retracted(1, version: 6)).isEmpty)
    #expect((Change(second[0])?.version ?? 0) > (Change(first[0])?.version ?? 0))
  }

  @Test("time and trace are those of the snapshot; the key is the recipient")
  func cause() throws {
    let database = try AlarmDatabase()
    var event = changed(1, to: "somchai", raisedAt: 7)
    event.trace = TraceContext("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    let published = try database.handler.applyDirectly(
      [event], topic: .notificationChanges, on: database.worker
    ).events
    #expect(published.map(\.trace) == [event.trace])
    #expect(published.map(\.time) == [at(7)])
    #expect(published.map(\.key) == ["somchai"])
    #expect(published.map(\.source) == ["magpie/alarm-worker"])
  }

  @Test(
    "publish_alarms() publishes every alarm once more, retracted ones too, in pieces, and only then is nothing left"
  )
  func publishAgain() throws {
    let database = try AlarmDatabase(backlogLimit: 4)
    try database.apply(profile("actor", nickname: "A"))
    try database.apply((1...10).map { changed($0) } + [retracted(11, version: 2)])
    let before = try database.published()
    #expect(before.count == 11)
    try database.admin.query("SELECT publish_alarms()")
    let log = ChangeLog()
    #expect(try database.drain(into: log) == 3)
    #expect(log.events.count == 11)
    let after = try database.published()
    #expect(after.mapValues(\.line) == before.mapValues(\.line))
    #expect(after.allSatisfy { $0.value.version > before[$0.key]?.version ?? .max })
    #expect(differences(after, log.newest()) == [])
    #expect(try database.handler.runBacklogDirectly(on: database.worker).events.isEmpty)
  }

  @Test("tables that nobody reads yet publish nothing, and their alarms have version 0")
  func unpublished() throws {
    let database = try AlarmDatabase()
    let handler = alarmHandler(engine: .builtIn, isPublishing: false)
    let events = [changed(1), changed(2), retracted(2, version: 2)]
    #expect(
      try handler.applyDirectly(events, topic: .notificationChanges, on: database.worker).events
        .isEmpty)
    try handler.applyDirectly(
      [profile("actor", nickname: "A", at: 1)], topic: .profiles, on: database.worker)
    #expect(try handler.runBacklogDirectly(on: database.worker).events.isEmpty)
    #expect(try database.text(1) == "A likes your post")
    #expect(try database.admin.query("SELECT FROM alarms WHERE version = 0").count == 2)
  }

  @Test("an alarm whose text exceeds an event's bounds is published without its rendered fields")
  func oversized() throws {
    // 300 arguments in one sentence are 600 segments.
    let message = String(repeating: "{title} ", count: 300)
    let kind = #"""
      {"F77": {"name": "huge", "message": "huge", "actor": "none",
        "arguments": {"title": {"type": "text", "bytes": 64}}}}
      """#
    let engine = try AlarmTextEngine(
      catalogs: AlarmTextEngine.builtIn.locales.map {
        CatalogFile(name: "\($0).arb", bytes: Array(#"{"huge": "\#(message)"}"#.utf8))
      }, kinds: [CatalogFile(name: "kinds.json", bytes: Array(kind.utf8))])
    let database = try AlarmDatabase(engine: engine)
    let events = try database.handler.applyDirectly(
      [changedRaised(1, kind: 77, arguments: ["title": String(repeating: "x", count: 64)])],
      topic: .notificationChanges, on: database.worker
    ).events
    guard case .alarmChanged(let data)? = events.first?.payload else {
      Issue.record("\(events)")
      return
    }
    #expect(data.text.isEmpty && data.segments.isEmpty && data.spans.isEmpty)
    #expect(data.kind == "F77" && data.version > 0 && data.raisedAt > 0)
    #expect(try EventCodec.encode(events[0]).value?.count ?? 0 < 1000)
    #expect(try database.text(1)?.count ?? 0 > 300 * 64)
  }

  @Test("alarm_state tells committed versions from phantoms, and whether the alarm is shown")
  func state() throws {
    let database = try AlarmDatabase()
    let reader = try Connection(database.url, applicationName: "reader")
    try reader.script("SET ROLE magpie_reader")
    func state(_ user: String = "reader") throws -> String {
      let row = try reader.query(
        "SELECT version, shown, unread FROM alarm_state($1, $2)",
        [.text(user), .uuid(UUID(uuidString: notificationID(1)))]
      ).only
      return "\(try row.int8(0)) \(try row.bool(1))"
    }
    #expect(try state() == "0 false")
    let log = ChangeLog()
    try database.fail(database.handler.apply(.notificationChanges, [changed(1)]), into: log)
    #expect(try state() == "0 false")
    let phantom = try #require(log.events.first.flatMap(Change.init)).version
    let event = try database.handler.applyDirectly(
      [changed(1)], topic: .notificationChanges, on: database.worker
    ).events[0]
    let version = try #require(Change(event)).version
    #expect(version > phantom)
    #expect(try state() == "\(version) false")
    #expect(try state("somebody else") == "0 false")
  }
}
