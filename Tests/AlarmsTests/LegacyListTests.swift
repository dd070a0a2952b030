import Events
import Foundation
import Handling
import Notifications
import Postgres
import TestSupport
import Testing

@testable import Alarms

/// A database with both workers, and their events in order.
private final class LegacyWorld {
  let database: AlarmDatabase
  private let notifier: Connection
  private let reader: Connection
  private(set) var snapshots: [Event] = []
  private(set) var profiles: [Event] = []
  private var count = 0

  init() throws {
    database = try AlarmDatabase(backlogLimit: 5)
    notifier = try Connection(database.url, applicationName: "notifier")
    try notifier.script("SET ROLE magpie_notification")
    reader = try Connection(database.url, applicationName: "reader")
    try reader.script("SET ROLE magpie_reader")
  }

  /// Applies one event; returns what it makes notification-worker publish.
  @discardableResult
  func happen(_ payload: Payload, at seconds: Double, isRendered: Bool = true) throws -> [Event] {
    count += 1
    let event = Event(id: "e\(count)", source: "test", time: at(seconds), payload: payload)
    if event.topic == .profiles {
      profiles.append(event)
      try database.apply(event)
      return []
    }
    let published = try notificationHandler().applyDirectly(
      [event], topic: event.topic, on: notifier
    ).events
    snapshots += published
    if isRendered { try database.apply(published) }
    return published
  }

  /// Generates likes, comments, follows, raised alarms, undos, readings and late mutings.
  func generate(_ events: Int, people: [String], using random: inout SeededGenerator) throws {
    for person in people {
      try happen(
        .profile(
          person,
          nickname: ["", "nick of \(person)", "<\(person)>", "나오"].randomElement(using: &random)!,
          locale: ["ko", "en", "ar"].randomElement(using: &random)!,
          image: "https://i.example/\(person)"),
        at: 0)
      try happen(
        .post(
          "post of \(person)", by: person,
          image: Bool.random(using: &random) ? "https://i.example/post/\(person)" : ""), at: 0)
    }
    for number in 0..<events {
      let (actor, owner) = (
        people.randomElement(using: &random)!, people.randomElement(using: &random)!
      )
      // Few times, so that the ids often decide the order.
      let seconds = Double(Int.random(in: 1..<40, using: &random)) * 40_000
      let payload: Payload =
        switch Int.random(in: 0..<16, using: &random) {
        case 0...2: .like(actor, "post of \(owner)", of: owner)
        case 3: .unlike(actor, "post of \(owner)", of: owner)
        case 4...6:
          .comment(
            "c\(number)", by: actor, on: "post of \(owner)", of: owner, "comment \(number)",
            mentions: [])
        case 7: .follow(actor, owner)
        case 8: .message("m\(number)", from: actor, to: owner, "hi")
        case 9...12:
          .alarmRaised(
            .with {
              let isBroadcast = actor != owner
              ($0.recipient, $0.kind) = (owner, isBroadcast ? "F14" : "F42")
              ($0.subject, $0.source) = ("subject \(number)", "s\(number)")
              ($0.actor, $0.headText) = (isBroadcast ? actor : "", "head \(number)")
              $0.arguments = ["title": "title \(number)"]
              if isBroadcast, number % 3 == 0 { $0.arguments["station"] = "station \(number)" }
              $0.imageURL = number % 2 == 0 ? "https://i.example/\(number)" : ""
            })
        case 13: .alarmReadAll(.with { $0.user = owner })
        case 14: .mute(owner, ["like", "comment"].randomElement(using: &random)!)
        default: .unmute(owner, ["like", "comment"].randomElement(using: &random)!)
        }
      do { try happen(payload, at: seconds) } catch is EventError { continue }
    }
    try database.drain()
  }

  func list(_ user: String, before: Int64? = nil, limit: Int32? = nil) throws -> [LegacyRow] {
    try reader.query(
      "SELECT l::text FROM legacy_alarm_list($1, $2, $3) l",
      [.text(user), .int8(before), .int4(limit)]
    ).map { try LegacyRow($0.text(0)) }
  }

  /// All rows, page by page.
  func pages(_ user: String, limit: Int32) throws -> [LegacyRow] {
    var rows: [LegacyRow] = []
    var page = try list(user, limit: limit)
    while let last = page.last {
      #expect(page.count <= Int(limit))
      rows += page
      page = try list(user, before: last.sequence, limit: limit)
    }
    return rows
  }

  /// What the list should be, from `alarm_page`.
  func expected(_ user: String) throws -> [[String]] {
    try reader.query(
      """
      SELECT p.kind, p.legacy_from_nick_name, p.actor_id, (NOT p.unread)::text, p.legacy_head_text, p.station,
        p.image_url, coalesce(p.deep_link, ''), p.legacy_message, p.actor_image_url,
        to_char(p.raised_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS'), p.notification_id::text
      FROM alarm_page($1, NULL, 200) p
      """, [.text(user)]
    ).map { row in try (0..<12).map { try row.text($0) } }
  }

  /// The event that withdraws a raised alarm; nil for other alarms.
  func withdrawal(of id: String) throws -> Payload? {
    let row = try database.admin.query(
      """
      SELECT recipient, kind_code(type), subject, source FROM notifications
      WHERE notification_id = $1 AND source IS NOT NULL
      """, [.uuid(UUID(uuidString: id))]
    ).first
    guard let row else { return nil }
    return .alarmWithdrawn(
      try .with {
        ($0.recipient, $0.kind) = (try row.text(0), try row.text(1))
        ($0.subject, $0.source) = (try row.text(2), try row.text(3))
      })
  }

  /// The notification's id.
  func alarm(_ user: String, _ sequence: Int64) throws -> String {
    try reader.query(
      "SELECT alarm_of_sequence($1, $2)::text", [.text(user), .int8(sequence)]
    ).only.text(0)
  }
}

private struct LegacyRow: Decodable, Equatable {
  var sequence: Int64
  var notificationType, fromNickName, fromId: String
  var isReading: Bool
  var headText, stationName, thumbnail, scheme, notificationMessage, profileImageURL: String
  var notificationDate: String

  init(_ json: String) throws {
    self = try JSONDecoder().decode(Self.self, from: Data(json.utf8))
  }
}

@Suite("The older clients' list")
struct LegacyListTests {
  private static let people = (0..<5).map { "p\($0)" }

  private func world(_ random: inout SeededGenerator, events: Int = 220) throws -> LegacyWorld {
    let world = try LegacyWorld()
    try world.generate(events, people: Self.people, using: &random)
    return world
  }

  @Test("it equals alarm_page row by row, its sequences are unique, and each names its alarm")
  func equalsAlarmPage() throws {
    var random = SeededGenerator()
    let world = try world(&random)
    var rows = 0
    for person in Self.people {
      let list = try world.list(person, limit: 200)
      let expected = try world.expected(person)
      #expect(list.count == expected.count)
      #expect(Set(list.map(\.sequence)).count == list.count)
      for (row, page) in zip(list, expected) {
        // alarm_page falls back to the actor's image.
        let image = row.thumbnail.isEmpty ? row.profileImageURL : row.thumbnail
        #expect(
          [
            row.notificationType, row.fromNickName, row.fromId, "\(row.isReading)", row.headText,
            row.stationName, image, row.scheme, row.notificationMessage, row.profileImageURL,
            String(row.notificationDate.prefix(19)), try world.alarm(person, row.sequence),
          ] == page)
        #expect(row.notificationDate.hasSuffix("Z") && row.notificationDate.count == 27)
        #expect(row.sequence >= 0 && row.sequence < 1 << 53)
      }
      rows += list.count
    }
    #expect(rows > 50)
  }

  @Test("paging with any limit gives every row once, also while a muting is under review")
  func paging() throws {
    var random = SeededGenerator()
    let world = try world(&random)
    #expect(
      try world.database.admin.query("SELECT FROM notification_reviews").count > 0,
      "no late muting: choose more events")
    for person in Self.people {
      let all = try world.list(person, limit: 200)
      for limit in 1...7 as ClosedRange<Int32> {
        #expect(try world.pages(person, limit: limit) == all, "limit \(limit)")
      }
    }
  }

  @Test("it has exactly these keys, in this order, and JSON's own types")
  func golden() throws {
    let world = try LegacyWorld()
    try world.happen(.profile("a", nickname: "나오", locale: "ko", image: "https://i/a"), at: 0)
    try world.happen(.profile("o", nickname: "O", locale: "en", image: "https://i/o"), at: 0)
    try world.happen(.post("p", by: "o", image: "https://i/p"), at: 0)
    try world.happen(
      .comment("c", by: "a", on: "p", of: "o", "hello", mentions: []), at: 1.5)
    let text = try world.database.admin.query(
      "SELECT l::text FROM legacy_alarm_list('o', NULL, NULL) l"
    ).only.text(0)
    let sequence = try world.list("o")[0].sequence
    #expect(
      text == """
        {"sequence" : \(sequence), "notificationType" : "F01", "fromNickName" : "나오", "fromId" : "a", \
        "isReading" : false, "headText" : "hello", "stationName" : "", "thumbnail" : "https://i/p", \
        "scheme" : "magpie://posts/p/comments/c", "notificationMessage" : "<나오> commented on your post", \
        "profileImageURL" : "https://i/a", "notificationDate" : "2024-01-01T00:00:01.500000Z"}
        """)
    // A number that other languages and versions must agree on.
    #expect(
      try world.database.admin.query(
        "SELECT alarm_sequence('ffffffff-ffff-5fff-8fff-ffffffffffff')"
      ).only.int8(0) == (1 << 53) - 1)
    #expect(
      try world.database.admin.query(
        "SELECT alarm_sequence('00000000-0001-5100-8000-000000000000')"
      ).only.int8(0) == 34)
  }

  @Test("a page continues after an alarm that was deleted or withdrawn between two pages")
  func deletedBetween() throws {
    var random = SeededGenerator()
    var continued = 0
    var withdrawn = 0
    for _ in 0..<2 {
      let world = try world(&random, events: 120)
      // Deletions happen after everything else.
      var seconds = 5_000_000.0
      for person in Self.people {
        var rows = try world.list(person, limit: 200)
        while rows.count > 2 {
          let place = Int.random(in: 0..<rows.count - 1, using: &random)
          let row = rows[place]
          let id = try world.alarm(person, row.sequence)
          let isRendered = Bool.random(using: &random)
          seconds += 1
          let isWithdrawn = Bool.random(using: &random)
          let raised = isWithdrawn ? try world.withdrawal(of: id) : nil
          let retraction = try world.happen(
            raised
              ?? .alarmDeleted(
                .with {
                  $0.user = person
                  $0.notification = id
                }), at: seconds, isRendered: isRendered)
          withdrawn += raised == nil ? 0 : 1
          rows.remove(at: place)
          for _ in 0..<2 {
            #expect(
              try world.list(person, before: row.sequence, limit: 200) == Array(rows[place...]))
            #expect(try world.list(person, limit: 200) == rows)
            // Once more after alarm-worker has retracted the alarm.
            try world.database.apply(retraction)
          }
          continued += 1
        }
      }
    }
    #expect(continued > 20 && withdrawn > 3)
  }

  @Test("a sequence is the same in tables that another order of the events filled")
  func rebuilt() throws {
    var random = SeededGenerator()
    let world = try world(&random)
    let other = try AlarmDatabase()
    try other.apply(world.profiles)
    for snapshot in world.snapshots.shuffled(using: &random) { try other.apply(snapshot) }
    for person in Self.people {
      for row in try world.list(person, limit: 200) {
        let id = try other.worker.query(
          "SELECT alarm_of_sequence($1, $2)::text", [.text(person), .int8(row.sequence)]
        ).only.text(0)
        #expect(try world.alarm(person, row.sequence) == id)
      }
    }
  }

  @Test("the five actions take effect on the alarm that a sequence names")
  func actions() throws {
    let world = try LegacyWorld()
    for number in 1...4 {
      try world.happen(
        .comment("c\(number)", by: "a", on: "p", of: "o", "hello"), at: Double(number))
    }
    try world.happen(.follow("b", "o"), at: 5)
    let rows = try world.list("o")
    #expect(rows.map(\.notificationType) == ["F02", "F01", "F01", "F01", "F01"])
    func id(_ row: LegacyRow) throws -> String { try world.alarm("o", row.sequence) }
    // read
    let read = try id(rows[1])
    try world.happen(
      .alarmRead(
        .with {
          $0.user = "o"
          $0.notification = read
        }), at: 10)
    #expect(try world.list("o").filter(\.isReading).map(\.sequence) == [rows[1].sequence])
    // delete
    let deleted = try id(rows[2])
    try world.happen(
      .alarmDeleted(
        .with {
          $0.user = "o"
          $0.notification = deleted
        }), at: 11)
    #expect(
      try world.list("o").map(\.sequence) == [0, 1, 3, 4].map { rows[$0].sequence })
    // read_all
    try world.happen(.alarmReadAll(.with { $0.user = "o" }), at: 12)
    #expect(try world.list("o").allSatisfy(\.isReading))
    // notification_disable
    let kind = try world.database.admin.query(
      "SELECT kind FROM alarm_scopes('o', alarm_of_sequence('o', $1))", [.int8(rows[1].sequence)]
    ).only.text(0)
    try world.happen(
      .alarmDisabled(.with { ($0.user, $0.scope, $0.kind) = ("o", "kind", kind) }), at: 13)
    try world.happen(.comment("c5", by: "a", on: "p", of: "o", "hello"), at: 14)
    try world.happen(.follow("c", "o"), at: 15)
    #expect(try world.list("o").count(where: { !$0.isReading }) == 1)
    #expect(try world.list("o")[0].notificationType == "F02")
    // delete_all
    try world.happen(.alarmAllDeleted(.with { $0.user = "o" }), at: 20)
    #expect(try world.list("o").isEmpty)
    #expect(try world.list("o", before: rows[3].sequence).isEmpty)
  }

  @Test("an unknown sequence, and that of another person's alarm, is an error and not a first page")
  func unknown() throws {
    var random = SeededGenerator()
    let world = try world(&random, events: 60)
    let owner = try #require(try Self.people.first { try !world.list($0).isEmpty })
    let known = try world.list(owner)[0].sequence
    let wrong: [(String, Int64)] =
      [(Self.people[0] == owner ? "p1" : "p0", known), ("nobody", known), (owner, known ^ 1)]
      + [-1, 0, 1, 1 << 53, known + (1 << 53), .max, .min].map { (owner, $0) }
      + (0..<50).map { _ in (owner, Int64.random(in: 0..<1 << 53, using: &random)) }
    for (user, sequence) in wrong {
      for call in [
        { _ = try world.list(user, before: sequence) }, { _ = try world.alarm(user, sequence) },
      ] {
        let error = #expect(throws: PostgresError.self, "\(user) \(sequence)") { try call() }
        #expect(error?.sqlstate == "22P02", "\(user) \(sequence)")
      }
    }
  }
}
