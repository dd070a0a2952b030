import Events
import Postgres
import Testing

@testable import Alarms

@Suite("search_users")
struct SearchUsersTests {
  private func search(
    _ database: AlarmDatabase, _ query: String, as user: String = "me", before: String? = nil,
    limit: Int32 = 200
  ) throws -> Rows {
    try database.admin.query(
      "SELECT * FROM search_users($1, $2, $3, $4)",
      [.text(query), .text(user), .text(before), .int4(limit)])
  }

  private func ids(_ rows: Rows) throws -> [String] { try rows.map { try $0.text("user_id") } }

  @Test("finds by name or major, whatever the case, without the one who asks")
  func contains() throws {
    let database = try AlarmDatabase()
    try database.apply(
      profile("1", nickname: "physics", name: "Kim Minsu", major: "Law"),
      profile("2", name: "Lee", major: "Physics"), profile("3", name: "Astrophysics fan"),
      profile("me", name: "Physics myself"), profile("4", name: "김민수", major: "컴퓨터공학"))
    try database.apply(changed(1, by: "unknown"))
    #expect(try ids(search(database, "PHYSICS")) == ["3", "2"])
    #expect(try ids(search(database, "민수")) == ["4"])
    #expect(try ids(search(database, "공학", as: "4")).isEmpty)
    #expect(try ids(search(database, "")).isEmpty)
    #expect(try ids(search(database, "ki")) == ["1"])
  }

  @Test("what is typed is never a pattern")
  func hostile() throws {
    let database = try AlarmDatabase()
    let names = ["100%", "a_b", #"back\slash"#, "O'Hara", #"quo"te"#, "aXb", "plain", "%_\\", "$1"]
    try database.apply(names.map { profile("id \($0)", name: $0) })
    for query in ["%", "_", #"\"#, "'", "\"", "a_b", "%_\\", "$1", "\\%", "';--", "%%", "__"] {
      let expected = names.filter { $0.contains(query) }.map { "id \($0)" }.sorted {
        BytewiseString($0) < BytewiseString($1)
      }
      #expect(try ids(search(database, query)) == expected, "\(query)")
    }
  }

  @Test("pages follow one another, also where names are equal or strange")
  func paging() throws {
    let database = try AlarmDatabase()
    let names = [
      "same", "same", "same", "same:", "1:same", "sameé", "same", "Same", "\u{1F600}same",
    ]
    try database.apply(
      names.enumerated().map { profile("u:\($0)", name: $1) })
    let all = try ids(search(database, "same"))
    #expect(all.count == names.count)
    var seen: [String] = []
    var before: String?
    while let last = try search(database, "same", before: before, limit: 2).last {
      seen += try ids(search(database, "same", before: before, limit: 2))
      before = try last.text("cursor")
    }
    #expect(seen == all)
  }

  @Test("uses the trigrams among 100,000 people")
  func trigrams() throws {
    let database = try AlarmDatabase()
    try database.admin.script(
      """
      INSERT INTO profiles (user_id, name, major)
      SELECT 'u' || i, md5(i::text), CASE i % 3 WHEN 0 THEN 'Physics' ELSE '컴퓨터공학' END
      FROM generate_series(1, 100000) i;
      UPDATE profiles SET name = '홍길동전' WHERE user_id = 'u77777';
      ANALYZE profiles;
      """)
    for query in ["abcde", "길동전"] {
      let plan = try database.admin.query(
        "EXPLAIN SELECT * FROM search_users('\(query)', 'u5', NULL, 20)"
      ).map { try $0.text(0) }.joined(separator: "\n")
      #expect(plan.contains("profiles_searched"), "\(plan)")
    }
    #expect(try ids(search(database, "길동전")) == ["u77777"])
  }
}
