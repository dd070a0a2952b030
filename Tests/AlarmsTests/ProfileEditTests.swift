import Events
import Model
import Postgres
import TestSupport
import Testing

@testable import Alarms

@Suite("Edited profiles")
struct ProfileEditTests {
  private static func event(_ id: String, _ seconds: Double, _ payload: Payload) -> Event {
    Event(id: id, source: "test", time: at(seconds), payload: payload)
  }

  private func profile(_ database: AlarmDatabase) throws -> [String] {
    let row = try database.admin.query(
      "SELECT nickname, image_url, name, locale, shown_name FROM profiles WHERE user_id = 'ann'"
    ).only
    return try (0..<5).map { try row.text($0) }
  }

  @Test("in any order and any batches, each field shows the newest event that names it")
  func anyOrder() throws {
    let events = [
      Self.event("1", 1, .profile("ann", nickname: "first", image: "old", name: "Ann")),
      Self.event("2", 2, .edit("ann", image: "phone")),
      Self.event("3", 3, .edit("ann", nickname: "web")),
      Self.event("4", 4, .profile("ann", nickname: "whole", locale: "ko", name: "Ann Lee")),
      Self.event("5", 5, .edit("ann", image: "later", name: "")),
      Self.event("6", 5, .edit("ann", nickname: "")),
    ]
    var random = SeededGenerator()
    for _ in 0..<25 {
      let database = try AlarmDatabase()
      var log = (events + [events.randomElement(using: &random) ?? events[0]])
        .shuffled(using: &random)
      var applied: [Event] = []
      while !log.isEmpty {
        let batch = Array(log.prefix(Int.random(in: 1...3, using: &random)))
        log.removeFirst(batch.count)
        try database.apply(batch)
        applied += batch
        let expected = try #require(Model(applied).allProfiles.first)
        let found = try profile(database)
        let fields = [expected.nickname, expected.imageURL, expected.name, expected.locale]
        #expect(Array(found.prefix(4)) == fields, "after \(applied.map(\.id))")
      }
      #expect(try profile(database) == ["", "later", "", "ko", ""])
      #expect(try database.admin.query("SELECT * FROM verify_alarms()").isEmpty)
    }
  }

  @Test("an edit of the name renders alarms again; one of the image does not")
  func rendering() throws {
    let database = try AlarmDatabase()
    try database.apply(Self.event("1", 1, .profile("actor", nickname: "nao", locale: "en")))
    try database.apply(changed(1))
    #expect(try database.text(1)?.contains("nao") == true)
    try database.apply(Self.event("2", 2, .edit("actor", image: "new")))
    #expect(try database.pendingCount() == 0)
    try database.apply(Self.event("3", 3, .edit("actor", nickname: "mio")))
    try database.drain()
    #expect(try database.text(1)?.contains("mio") == true)
    try database.apply(Self.event("4", 4, .edit("reader", locale: "ko")))
    try database.drain()
    #expect(try database.text(1)?.contains("님이") == true)
  }

  @Test("a profile that a worker of an older version stores keeps the newer edits")
  func olderWorker() throws {
    let database = try AlarmDatabase()
    try database.apply(Self.event("9", 9, .edit("ann", nickname: "edited")))
    // As of version 22: every column, if the profile is newer than the stored one.
    try database.worker.query(
      """
      UPDATE profiles p SET nickname = 'old', image_url = 'i', name = 'Ann', locale = 'th',
        version_time = $1, version_id = '5'
      WHERE p.user_id = 'ann' AND (p.version_time, p.version_id) < ($1, '5')
      """, [.timestamptz(at(5).microseconds)])
    #expect(try profile(database) == ["edited", "i", "Ann", "th", "edited"])
  }

  @Test("whoever has only edited their profile is found, and nobody whose profile has not arrived")
  func search() throws {
    let database = try AlarmDatabase()
    try database.apply(Self.event("1", 1, .edit("ann", nickname: "Nao")))
    try database.apply(changed(1, to: "reader", by: "ghost"))
    for query in ["", "nao"] {
      let found = try database.admin.query(
        "SELECT user_id FROM search_users($1, 'me', NULL, 9)", [.text(query)])
      #expect(try found.map { try $0.text(0) } == ["ann"])
    }
  }
}
