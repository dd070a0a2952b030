import AlarmText
import Events
import Postgres
import TestSupport
import Testing

@testable import Alarms

@Suite("The name that is shown of a person")
struct ShownNameTests {
  /// The nicknames that the table takes for none.
  private func invisible(_ nicknames: [String]) throws -> Set<BytewiseString> {
    let connection = try Connection(TestDatabase.fresh(), applicationName: "test")
    try connection.query(
      """
      INSERT INTO profiles (user_id, nickname, name)
      SELECT n::text, t.nickname, 'the name'
      FROM unnest($1::text[]) WITH ORDINALITY AS t (nickname, n)
      """, [.textArray(nicknames)])
    return Set(
      try connection.query("SELECT nickname FROM profiles WHERE shown_name = 'the name'").map {
        BytewiseString(try $0.text(0))
      })
  }

  @Test("each code point counts as a name if, and only if, alarm texts show it")
  func everyScalar() throws {
    // The other planes hold ideographs, private use and nothing, and each ends in noncharacters.
    let ends: [UInt32] = (UInt32(2)...16).flatMap { (plane: UInt32) -> [UInt32] in
      [plane << 16 | 0xFFFE, plane << 16 | 0xFFFF]
    }
    let scalars = (Array(UInt32(1)...0x1FFFF) + Array(UInt32(0xE0000)...0xE0FFF) + ends)
      .compactMap(Unicode.Scalar.init).map { String(Character($0)) }
    let expected = scalars.filter { Actor(id: "", nickname: $0, name: "name").nickname == "name" }
      .map { BytewiseString($0) }
    let found = try invisible(scalars)
    #expect(found.subtracting(expected) == [])
    #expect(Set(expected).subtracting(found) == [])
  }

  @Test("a text counts as a name as long as alarm texts show any of it")
  func generated() throws {
    var random = SeededGenerator()
    let parts = [
      "\u{200D}", "\u{FE0F}", " ", "\u{301}", "\u{2060}", "\u{3164}", "\u{E0067}", "👍", "क", "a",
    ]
    let nicknames = (0..<2000).map { _ in
      (0..<Int.random(in: 0...4, using: &random)).map { _ in
        parts[Int.random(in: 0..<parts.count, using: &random)]
      }.joined()
    }
    let expected = nicknames.filter {
      Actor(id: "", nickname: $0, name: "the name").nickname == "the name"
    }
    #expect(try invisible(nicknames) == Set(expected.map { BytewiseString($0) }))
  }

  @Test("a change of the name renders alarms again that show it, one behind a nickname does not")
  func renamed() throws {
    let database = try AlarmDatabase()
    func text() throws -> String? { try database.text(1) }
    try database.apply(profile("a", name: "Ann", at: 1, id: "1"))
    try database.apply(changed(1, by: "a"))
    #expect(try text()?.contains("Ann") == true)
    try database.apply(profile("a", name: "Anna Lee", at: 2, id: "2"))
    #expect(try database.pendingCount() == 1)
    try database.drain()
    #expect(try text()?.contains("Anna Lee") == true)
    try database.apply(profile("a", nickname: "nao", name: "Anna Lee", at: 3, id: "3"))
    try database.drain()
    #expect(try text()?.contains("nao") == true)
    try database.apply(profile("a", nickname: "nao", name: "Anna", at: 4, id: "4"))
    #expect(try database.pendingCount() == 0)
  }
}
