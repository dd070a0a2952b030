import Events
import Postgres
import TestSupport
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

  @Test("finds by name, nickname or major, case-insensitively, without the searching user")
  func contains() throws {
    let database = try AlarmDatabase()
    try database.apply(
      profile("1", nickname: "physics", name: "Kim Minsu", major: "Law"),
      profile("2", name: "Lee", major: "Physics"), profile("3", name: "Astrophysics fan"),
      profile("me", name: "Physics myself"), profile("4", name: "김민수", major: "컴퓨터공학"))
    try database.apply(changed(1, by: "unknown"))
    #expect(try ids(search(database, "PHYSICS")) == ["3", "1", "2"])
    #expect(try ids(search(database, "민수")) == ["4"])
    #expect(try ids(search(database, "공학", as: "4")).isEmpty)
    #expect(try ids(search(database, "")) == ["3", "1", "2", "4"])
    #expect(try ids(search(database, "ki")) == ["1"])
  }

  @Test("letters that differ only by position, symbol or convention are one letter")
  func folded() throws {
    let database = try AlarmDatabase()
    let names = ["ΣΑΣ", "Σας", "σασ", "ϐϑ", "ΒΘ", "5 µm", "5 Μm", "Groß", "GROSS", "GROẞE", "ßß"]
    try database.apply(names.enumerated().map { profile("\($0)", name: $1) })
    func found(_ query: String) throws -> Set<String> {
      Set(try search(database, query).map { try $0.text("name") })
    }
    for query in ["ΣΑΣ", "Σας", "σασ", "ΑΣ", "ας"] {
      #expect(try found(query) == ["ΣΑΣ", "Σας", "σασ"], "\(query)")
    }
    #expect(try found("βθ") == ["ϐϑ", "ΒΘ"])
    #expect(try found("μM") == ["5 µm", "5 Μm"])
    for query in ["gross", "GROSS", "groß", "GROẞ", "gros"] {
      #expect(try found(query) == ["Groß", "GROSS", "GROẞE"], "\(query)")
    }
    #expect(try found("sss") == ["ßß"])
    #expect(try found("oss") == ["Groß", "GROSS", "GROẞE"])
  }

  @Test("a query finds exactly the names that contain it after folding")
  func foldedByChance() throws {
    let database = try AlarmDatabase()
    var random = SeededGenerator()
    let letters = Array("sSßẞσςΣaAµμ%_ x")
    func word(_ lengths: ClosedRange<Int>) -> String {
      let length = Int.random(in: lengths, using: &random)
      return String((0..<length).map { _ in letters.randomElement(using: &random)! })
    }
    let names = (0..<200).map { _ in word(1...6) }
    try database.apply(names.enumerated().map { profile("\($0)", name: $1) })
    func fold(_ text: String) -> String {
      text.lowercased().replacing("ς", with: "σ").replacing("ß", with: "ss")
        .replacing("µ", with: "μ")
    }
    for _ in 0..<100 {
      let query = word(1...3)
      let expected = names.indices.filter { fold(names[$0]).contains(fold(query)) }.map { "\($0)" }
      #expect(Set(try ids(search(database, query))) == Set(expected), "\(query)")
    }
  }

  @Test("the query is never treated as a pattern")
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

  @Test("pages are contiguous, even where names are equal or unusual")
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

  @Test("uses the trigram index among 100,000 people")
  func trigrams() throws {
    let database = try AlarmDatabase()
    try database.admin.script(
      """
      INSERT INTO profiles (user_id, name, major, version_time)
      SELECT 'u' || i, md5(i::text), CASE i % 3 WHEN 0 THEN 'Physics' ELSE '컴퓨터공학' END, now()
      FROM generate_series(1, 100000) i;
      UPDATE profiles SET name = '홍길동전' WHERE user_id = 'u77777';
      """)
    // VACUUM empties the index's pending list, whose pages the planner adds to the cost of a scan.
    try database.admin.query("VACUUM ANALYZE profiles")
    func scans() throws -> Int {
      try database.admin.query("SELECT pg_stat_force_next_flush()")
      return try database.admin.query(
        "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'profiles_searched'"
      ).only.int(0)
    }
    // The planner takes what it finds in its statistics for more frequent than it is.
    let sampled = try database.admin.query(
      """
      SELECT substr((histogram_bounds::text::text[])[50], 1, 5) FROM pg_stats
      WHERE tablename = 'profiles' AND attname = 'name'
      """
    ).only.text(0)
    for query in ["abcde", "길동전", "GROSS abcde", "sabcde", "abcdes", sampled] {
      let before = try scans()
      _ = try search(database, query, limit: 20)
      #expect(try scans() > before, "\(query)")
    }
    #expect(try ids(search(database, "길동전")) == ["u77777"])
  }
}
