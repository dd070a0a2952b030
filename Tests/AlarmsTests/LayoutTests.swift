import AlarmText
import Events
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Alarms

@Suite("What clients receive follows from an alarm's text and layout")
struct LayoutTests {
  @Test("for any nickname, head text, argument, kind and locale")
  func derived() throws {
    var generator = SeededGenerator()
    func words() -> String {
      let pieces = [
        "😀", "a", "나오", "e", "\u{301}", "<", ">", "é", "👨‍👩‍👧‍👦", "\u{202E}", "ليلى", "กี่", "\\", "\"",
        "{0}", " ", "x: ",
        "\u{2068}", "🇰🇷", "\u{10FFFD}",
      ]
      return (0..<Int.random(in: 0...5, using: &generator)).reduce(into: "") { text, _ in
        text += pieces.randomElement(using: &generator) ?? ""
      }
    }
    let engine = AlarmTextEngine.builtIn
    var alarms: [(actor: String?, second: String?, rendered: RenderedAlarm)] = []
    for locale in engine.locales {
      for kind in engine.kinds {
        // Ids that only differ in their bytes.
        let actor = Bool.random(using: &generator) ? Actor(id: "é", nickname: words()) : nil
        let second =
          actor != nil && Bool.random(using: &generator)
          ? Actor(id: "e\u{301}", nickname: words()) : nil
        let input = AlarmInput(
          code: kind.code, actor: actor, other: second,
          actorCount: second == nil ? Int.random(in: 1...3, using: &generator) : 2,
          count: Int.random(in: 1...1_200, using: &generator), headText: words(),
          arguments: Dictionary(
            kind.arguments.map { ($0.name, words()) }, uniquingKeysWith: { first, _ in first }))
        alarms.append((actor?.id, second?.id, try engine.render(input, locale: locale)))
      }
    }
    let database = try AlarmDatabase()
    let rows = try database.admin.query(
      """
      SELECT alarm_segments(a.text, l, actor, second) = segments, alarm_spans(l, actor, second) = spans,
        alarm_message(a.text, l), substr(a.text, l[2] + 1), alarm_nickname(a.text, l)
      FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::jsonb[], $6::jsonb[]) WITH ORDINALITY
        AS a (text, layout, actor, second, segments, spans, position)
      CROSS JOIN LATERAL (SELECT layout::int[] AS l) x
      ORDER BY position
      """,
      [
        .textArray(alarms.map(\.rendered.text)),
        .textArray(alarms.map { layout($0.rendered) }),
        .textArray(alarms.map(\.actor)), .textArray(alarms.map(\.second)),
        .jsonbArray(alarms.map { String(decoding: $0.rendered.segmentsJSON, as: UTF8.self) }),
        .jsonbArray(alarms.map { String(decoding: $0.rendered.spansJSON, as: UTF8.self) }),
      ])
    #expect(rows.count == alarms.count && alarms.count > 200)
    for (row, alarm) in zip(rows, alarms) {
      let legacy = alarm.rendered.legacy
      let isRight =
        try row.bool(0) && row.bool(1) && row.text(2).hasSameBytes(as: legacy.message)
        && row.text(3).hasSameBytes(as: legacy.headText)
        && row.text(4).hasSameBytes(as: legacy.fromNickName)
      #expect(isRight, "\(alarm.rendered) \(layout(alarm.rendered))")
    }
  }

  @Test("a rendering by a worker of an older version counts until the alarm is rendered again")
  func olderWorker() throws {
    let database = try AlarmDatabase()
    try database.apply(profile("reader", locale: "en"), profile("actor", nickname: "nao"))
    try database.apply(changed(1, .like))
    let own = try database.alarms()
    try database.admin.script(
      """
      UPDATE alarms a SET (segments, spans, legacy_message, legacy_head_text, legacy_from_nick_name) = (
        SELECT segments, spans, 'by an older one', legacy_head_text, legacy_from_nick_name
        FROM rendered_alarms r WHERE r.notification_id = a.notification_id)
      """)
    let older = try database.alarms()
    #expect(older == own.map { $0.replacing("<nao> likes your post", with: "by an older one") })
    #expect(older != own)
    // Like an older worker's row before the migration.
    try database.admin.script("UPDATE alarms SET layout = NULL")
    #expect(try database.alarms() == older)
    try database.apply(profile("actor", nickname: "mao", at: 1, id: "later"))
    try database.drain()
    #expect(try database.alarms() == own.map { $0.replacing("nao", with: "mao") })
  }
}
