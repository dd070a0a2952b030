import Events
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Alarms

@Suite("alarm_page, unread_count, has_unread, badge and has_unseen")
struct AlarmPageTests {
  /// Writes the notifications of snapshots as notification-worker would.
  private func notify(_ database: AlarmDatabase, _ events: Event...) throws {
    for event in events {
      guard case .notificationChanged(let data) = event.payload else { continue }
      try database.admin.query(
        """
        INSERT INTO notifications VALUES (
          $1, $2, $3, $4, NULL, nullif($5, ''), NULL, $11, $12, nullif($6, ''), nullif($7, ''), $8, $9, $9, 1, $10,
          NULL, $13, $14::jsonb)
        """,
        [
          .uuid(UUID(uuidString: data.notification)), .text(data.recipient),
          .int2(Int16(data.type)), .text(data.subject), .text(data.actor), .text(data.post),
          .text(data.comment), .text(data.headText), .timestamptz(data.raisedAt),
          .int8(data.counter), .int8(data.actorCount), .int8(data.contributionCount),
          .text(data.imageURL),
          .text(String(decoding: try JSONEncoder().encode(data.arguments), as: UTF8.self)),
        ])
      try database.admin.query(
        "INSERT INTO notification_recipients (user_id) VALUES ($1) ON CONFLICT DO NOTHING",
        [.text(data.recipient)])
      try database.apply(event)
    }
  }

  private struct Shown: Equatable {
    var number: Int
    var isUnread: Bool
  }

  private func page(
    _ database: AlarmDatabase, _ user: String = "reader", before: String? = nil, limit: Int32? = nil
  ) throws -> [Shown] {
    try rows(database, user, before: before, limit: limit).map {
      Shown(
        number: Int(try $0.uuid("notification_id").uuidString.suffix(12))!,
        isUnread: try $0.bool("unread"))
    }
  }

  private func rows(
    _ database: AlarmDatabase, _ user: String, before: String? = nil, limit: Int32? = nil
  ) throws -> Rows {
    try database.admin.query(
      "SELECT * FROM alarm_page($1, $2, $3)", [.text(user), .text(before), .int4(limit)])
  }

  private func expectConsistent(
    _ database: AlarmDatabase, unread: Int, unseen: Int? = nil,
    location: SourceLocation = #_sourceLocation
  ) throws {
    let badge = try database.admin.query("SELECT badge('reader'), has_unseen('reader')").only
    let unseen = unseen ?? unread
    #expect(try badge.int(0) == unseen, sourceLocation: location)
    #expect(try badge.bool(1) == (unseen > 0), sourceLocation: location)
    #expect(
      try rows(database, "reader").filter { try $0.bool("unseen") }.count == unseen,
      sourceLocation: location)
    let counts = try database.admin.query("SELECT unread_count('reader'), has_unread('reader')")
      .only
    #expect(try counts.int(0) == unread, sourceLocation: location)
    #expect(try counts.bool(1) == (unread > 0), sourceLocation: location)
    #expect(
      try page(database).count(where: \.isUnread) == unread, sourceLocation: location)
    let violations = try database.admin.query("SELECT invariant, subject FROM verify_alarms()")
    #expect(violations.isEmpty, sourceLocation: location)
  }

  /// Copies the reader's first alarm, with its notification.
  private func copy(_ numbers: ClosedRange<Int>, in database: AlarmDatabase) throws {
    for table in ["notifications", "alarms"] {
      try database.admin.query(
        """
        INSERT INTO \(table)
        SELECT (jsonb_populate_record(t, jsonb_build_object(
          'notification_id', md5(n::text)::uuid, 'subject', n::text))).*
        FROM \(table) t CROSS JOIN generate_series(\(numbers.lowerBound), \(numbers.upperBound)) n
        WHERE t.notification_id = '\(notificationID(0))'
        """)
    }
    try database.admin.query("ANALYZE")
  }

  @Test("a page reads as little as it shows while strangers are erased, however many there are")
  func pageWhileOthersAreErased() throws {
    let database = try AlarmDatabase()
    try notify(database, changed(0, raisedAt: 1))
    func erase(_ numbers: ClosedRange<Int>) throws {
      try database.admin.query(
        """
        INSERT INTO erasures (person_hash, erased_at, waits_for, user_id)
        SELECT sha256(convert_to(n::text, 'UTF8')), now(), '{alarm}', 'stranger-' || n
        FROM generate_series(\(numbers.lowerBound), \(numbers.upperBound)) n
        """)
    }
    func blocksRead() throws -> Int {
      try database.admin.blocksTouched(by: "SELECT count(*) FROM alarm_page('reader', NULL, 20)")
    }
    try erase(1...1)
    try copy(1...100, in: database)
    let before = try blocksRead()
    try copy(101...20_000, in: database)
    #expect(try blocksRead() < before * 2)
    try erase(2...200)
    try database.admin.query("ANALYZE")
    // A few look-ups for each of them, and not for each of them and alarm.
    #expect(try blocksRead() < before + 200 * 10)
    #expect(try rows(database, "reader", limit: 20).count == 20)
  }

  @Test("the counts stop at a thousand, however much is unread", arguments: [false, true])
  func counts(isReviewed: Bool) throws {
    let database = try AlarmDatabase()
    try notify(database, changed(0, raisedAt: 1))
    if isReviewed {
      try database.admin.query(
        """
        INSERT INTO notification_reviews (
          recipient, type, after_time, upto_time, from_day, to_day, caused_at)
        SELECT 'reader', 1, t, t, t, t, t FROM now() t
        """)
    }
    func counts() throws -> [Int] {
      let row = try database.admin.query("SELECT badge('reader'), unread_count('reader')").only
      return [try row.int(0), try row.int(1)]
    }
    func blocksRead() throws -> Int {
      try database.admin.blocksTouched(by: "SELECT badge('reader'), unread_count('reader')")
    }
    try copy(1...998, in: database)
    #expect(try counts() == [999, 999])
    try copy(999...1200, in: database)
    #expect(try counts() == [1000, 1000])
    let before = try blocksRead()
    try copy(1201...20_000, in: database)
    #expect(try counts() == [1000, 1000])
    #expect(try blocksRead() < before * 2)
  }

  @Test("newest first; read, deleted and below a watermark")
  func marks() throws {
    let database = try AlarmDatabase()
    for number in 1...6 { try notify(database, changed(number, raisedAt: Double(number))) }
    try expectConsistent(database, unread: 6)
    #expect(try page(database).map(\.number) == [6, 5, 4, 3, 2, 1])

    func mark(_ number: Int, _ column: String, at seconds: Double) throws {
      try database.admin.query(
        """
        INSERT INTO notification_marks (recipient, notification_id, \(column))
        VALUES ('reader', $1, $2)
        """,
        [
          .uuid(UUID(uuidString: notificationID(number))),
          .timestamptz(at(seconds).microseconds),
        ])
    }
    try mark(6, "read_at", at: 6)
    try mark(5, "read_at", at: 4.9)
    try mark(4, "deleted_at", at: 4)
    #expect(
      try page(database).prefix(3) == [
        Shown(number: 6, isUnread: false), Shown(number: 5, isUnread: true),
        Shown(number: 3, isUnread: true),
      ])
    try expectConsistent(database, unread: 4)

    func watermark(_ column: String, at seconds: Double) throws {
      try database.admin.query(
        "UPDATE notification_recipients SET \(column) = $1",
        [.timestamptz(at(seconds).microseconds)])
    }
    try watermark("read_all_at", at: 2)
    try expectConsistent(database, unread: 2)
    #expect(try page(database).filter(\.isUnread).map(\.number) == [5, 3])
    try watermark("deleted_all_at", at: 3)
    #expect(try page(database).map(\.number) == [6, 5])
    try expectConsistent(database, unread: 1)
    try watermark("deleted_all_at", at: 100)
    #expect(try page(database).isEmpty)
    try expectConsistent(database, unread: 0)
  }

  @Test("seen alarms leave the badge but stay unread; later ones return to it")
  func seen() throws {
    let database = try AlarmDatabase()
    for number in 1...4 { try notify(database, changed(number, raisedAt: Double(number))) }
    func watermark(_ column: String, at seconds: Double) throws {
      try database.admin.query(
        "UPDATE notification_recipients SET \(column) = $1",
        [.timestamptz(at(seconds).microseconds)])
    }
    try watermark("seen_all_at", at: 3)
    try expectConsistent(database, unread: 4, unseen: 1)
    try watermark("seen_all_at", at: 4)
    try expectConsistent(database, unread: 4, unseen: 0)
    try notify(database, changed(5, raisedAt: 5), changed(6, raisedAt: 6))
    try expectConsistent(database, unread: 6, unseen: 2)
    // What is read is seen.
    try database.admin.query(
      """
      INSERT INTO notification_marks (recipient, notification_id, read_at)
      VALUES ('reader', $1, $2)
      """,
      [.uuid(UUID(uuidString: notificationID(6))), .timestamptz(at(6).microseconds)])
    try expectConsistent(database, unread: 5, unseen: 1)
    try watermark("read_all_at", at: 5)
    try expectConsistent(database, unread: 0, unseen: 0)
    // A watermark of one kind does not lower the other.
    try watermark("read_all_at", at: 1)
    try watermark("seen_all_at", at: 2)
    try expectConsistent(database, unread: 4, unseen: 3)
    try watermark("deleted_all_at", at: 3)
    try expectConsistent(database, unread: 2, unseen: 2)
    #expect(
      try database.admin.query("SELECT badge('nobody'), has_unseen('nobody')").only.int(0) == 0)
  }

  @Test("an alarm of any kind shows its code, station and image, and no actor if nobody acted")
  func anyKind() throws {
    let database = try AlarmDatabase()
    func alarm(_ number: Int, kind: Int32, _ change: (inout NotificationChanged) -> Void) -> Event {
      var event = changed(number, raisedAt: Double(number))
      guard case .notificationChanged(var data) = event.payload else { return event }
      (data.type, data.post, data.subject) = (kind, "", "s")
      change(&data)
      event.payload = .notificationChanged(data)
      return event
    }
    try database.apply(profile("actor", nickname: "Nao", image: "face", at: 1))
    try notify(
      database,
      alarm(1, kind: 39) {
        ($0.actor, $0.actorCount, $0.arguments) = ("", 0, ["text": "Water the plants"])
      },
      alarm(2, kind: 14) {
        ($0.imageURL, $0.arguments) = ("live", ["title": "Cooking", "station": "Nao's kitchen"])
      },
      alarm(3, kind: 14) { $0.arguments = ["title": "Cooking"] })
    let found = try rows(database, "reader").map { row in
      try ["kind", "station", "image_url", "actor_id", "actor_image_url"].map { try row.text($0) }
    }
    #expect(
      found == [
        ["F14", "", "face", "actor", "face"], ["F14", "Nao's kitchen", "live", "actor", "face"],
        ["F39", "", "", "", ""],
      ])
    let reminder = try #require(try rows(database, "reader").map { $0 }.last)
    #expect(try reminder.int("type") == 39 && reminder.int("actor_count") == 0)
    #expect(try reminder.text("text").contains("Water the plants"))
    try expectConsistent(database, unread: 3)
    let codes = try database.admin.query(
      "SELECT kind_code(n::smallint) FROM unnest(ARRAY[0, 9, 10, 99, 100, 999]) AS n")
    #expect(try codes.map { try $0.text(0) } == ["F00", "F09", "F10", "F99", "F100", "F999"])
  }

  @Test("a withdrawn notification disappears immediately; an unrendered one does not appear yet")
  func joins() throws {
    let database = try AlarmDatabase()
    try notify(database, changed(1), changed(2), changed(3))
    try database.admin.query(
      "DELETE FROM notifications WHERE notification_id = $1",
      [.uuid(UUID(uuidString: notificationID(2)))])
    try database.apply(retracted(3, version: 2))
    #expect(try page(database).map(\.number) == [1])
    #expect(try database.admin.query("SELECT unread_count('reader')").only.int(0) == 1)
    let found = try database.admin.query("SELECT subject FROM verify_alarms() ORDER BY 1")
      .map { try $0.text(0) }
    #expect(found == [notificationID(2), notificationID(3)])
  }

  @Test("pages are contiguous, even where times are equal")
  func paging() throws {
    let database = try AlarmDatabase()
    for number in 1...25 { try notify(database, changed(number, raisedAt: Double(number / 4))) }
    var seen: [Int] = []
    var before: String?
    while true {
      let rows = try rows(database, "reader", before: before, limit: 4)
      seen += try rows.map { Int(try $0.uuid(0).uuidString.suffix(12))! }
      guard let last = rows.last else { break }
      before = try last.text("cursor")
    }
    #expect(seen == Array((1...25).reversed()))
    #expect(try page(database, limit: 0).count == 1)
    #expect(try page(database, limit: nil).count == 25)
    #expect(try page(database, "stranger").isEmpty)
  }

  @Test("spans count UTF-16 units, whatever the nickname")
  func spans() throws {
    let database = try AlarmDatabase()
    for (index, nickname) in ["😀nao", "👨‍👩‍👧‍👦", "나오", "시작", "👍🏽\u{0301}"].enumerated() {
      let user = "user\(index)"
      try database.apply(profile(user, nickname: nickname))
      for (position, locale) in ["en", "ko", "th"].enumerated() {
        let number = index * 10 + position + 1
        try database.apply(profile("r-\(locale)", locale: locale))
        try notify(
          database,
          changed(number, to: "r-\(locale)", .comment, by: user, comment: "c", head: "🙂 hi"))
        let row = try #require(
          try rows(database, "r-\(locale)").first {
            try $0.uuid(0) == UUID(uuidString: notificationID(number))
          })
        struct Span: Decodable {
          var start: Int
          var length: Int
          var kind: String
          var actor: String?
        }
        let text = Array(try row.text("text").utf16)
        let spans = try JSONDecoder().decode([Span].self, from: Data(row.text("spans").utf8))
        let actor = try #require(spans.first { $0.kind == "actor" })
        let shown = String(
          decoding: text[actor.start..<(actor.start + actor.length)], as: UTF16.self)
        #expect(try shown == row.text("legacy_from_nick_name"))
        #expect(actor.actor == user)
        #expect(try row.text("legacy_message").contains("<\(shown)>"))
      }
    }
  }

  @Test("the image is the post's, or else the actor's")
  func images() throws {
    let database = try AlarmDatabase()
    try database.apply(profile("actor", nickname: "A", image: "http://actor"))
    try database.admin.script(
      """
      INSERT INTO post_facts VALUES
        ('with', 'x', '', 'http://post', '{}', false, now(), now(), 'e'),
        ('without', 'x', '', '', '{}', false, now(), now(), 'e'),
        ('deleted', 'x', '', 'http://gone', '{}', true, now(), now(), 'e')
      """)
    for (index, post) in ["with", "without", "deleted", "unknown"].enumerated() {
      try notify(database, changed(index + 1, post: post, raisedAt: Double(-index)))
    }
    try notify(database, changed(5, by: "unknown", post: "unknown", raisedAt: -9))
    let images = try rows(database, "reader").map { try $0.text("image_url") }
    #expect(images == ["http://post", "http://actor", "http://actor", "http://actor", ""])
  }

  @Test("the first page of a reader with 20,000 alarms reads a few blocks")
  func indexDriven() throws {
    let database = try AlarmDatabase()
    try database.admin.script(
      """
      INSERT INTO notification_recipients (user_id, deleted_all_at)
      VALUES ('reader', '2024-01-02'), ('other', '-infinity');
      INSERT INTO notifications
      SELECT gen_random_uuid(), CASE WHEN i % 4 = 0 THEN 'other' ELSE 'reader' END, 0, 'p', NULL,
        'a', NULL, 1, 1, 'p', NULL, '', '2024-01-01Z'::timestamptz + i * interval '10 second',
        '2024-01-01Z', 1, i
      FROM generate_series(1, 27000) i;
      INSERT INTO alarms
      SELECT notification_id, recipient, 1, counter, false, 0, actor, NULL, 1, 1, post_id, NULL, '',
        raised_at, 'en', 'x', '[{"kind": "text", "text": "x"}]', '[]', 'x', '', ''
      FROM notifications;
      INSERT INTO profiles SELECT 'u' || i FROM generate_series(1, 5000) i;
      """)
    // Without statistics, with statistics, and once everything has been deleted.
    for preparation in ["", "ANALYZE", "UPDATE notification_recipients SET deleted_all_at = now()"]
    {
      if !preparation.isEmpty { try database.admin.script(preparation) }
      // The first planning reads the system catalogs.
      _ = try rows(database, "reader", limit: 20)
      let plan = try database.admin.query(
        "EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM alarm_page('reader', NULL, 20)"
      ).map { try $0.text(0) }
      let buffers = try #require(plan.first { $0.contains("Buffers:") })
      let blocks = buffers.split { !$0.isNumber }.compactMap { Int($0) }.reduce(0, +)
      #expect(blocks < 700, "\(preparation): \(plan)")
    }
  }

  @Test("what a page computes for each row is part of its plan, not planned again for each page")
  func inlined() throws {
    let database = try AlarmDatabase()
    let plan = try database.admin.query(
      "EXPLAIN (VERBOSE) SELECT kind_code(a.type), locale_direction(a.locale) FROM alarms a"
    ).map { try $0.text(0) }.joined()
    #expect(plan.contains("CASE") && plan.contains("'rtl'"), "\(plan)")
    #expect(!plan.contains("kind_code(") && !plan.contains("locale_direction("), "\(plan)")
  }

  @Test("a damaged cursor is an error, not a first page")
  func damagedCursor() throws {
    let database = try AlarmDatabase()
    for cursor in ["", "x", "12", "12:", ":", "12:not-a-uuid", "9e9:" + notificationID(1)] {
      let error = #expect(throws: PostgresError.self, "\(cursor)") {
        try rows(database, "reader", before: cursor)
      }
      #expect(error?.sqlstate == "22P02", "\(cursor)")
    }
  }

  @Test("a backend may read everything and change nothing; the worker may change its own tables")
  func roles() throws {
    let database = try AlarmDatabase()
    try notify(database, changed(1))
    try database.admin.script("SET ROLE magpie_reader")
    #expect(try page(database).count == 1)
    for sql in [
      "SELECT unread_count('reader'), has_unread('reader')", "SELECT * FROM verify_alarms()",
      "SELECT * FROM search_users('a', 'b', NULL, 1)", "SELECT * FROM profiles, alarms",
    ] {
      try database.admin.query(sql)
    }
    for sql in [
      "UPDATE alarms SET text = ''", "DELETE FROM profiles", "DELETE FROM pending_renders",
    ] {
      let error = #expect(throws: PostgresError.self) { try database.admin.query(sql) }
      #expect(error?.sqlstate == "42501")
    }
    for sql in ["DELETE FROM erasures", "UPDATE notifications SET actor = ''"] {
      let error = #expect(throws: PostgresError.self) { try database.worker.query(sql) }
      #expect(error?.sqlstate == "42501")
    }
  }
}
