import Events
import Foundation
import Testing
import Workload

@Suite struct LDBCTests {
  /// Three people (one joins in the update stream), two friendships, a chain of comments.
  static let files = [
    "person_0_0.csv": """
    id|firstName|lastName|gender|birthday|creationDate|locationIP|browserUsed|place
    1|Jose|Alonso|female|1987-09-18|2010-02-01T00:00:00.500+0000|1.1.1.1|Firefox|5
    2|Chong|Zhang|male|1983-01-20|2010-02-02T00:00:00.000+0000|1.1.1.1|Chrome|5
    """,
    "person_speaks_language_0_0.csv": """
    Person.id|language
    1|es
    1|en
    """,
    "person_knows_person_0_0.csv": """
    Person.id|Person.id|creationDate
    1|2|2010-03-01T00:00:00.000+0000
    1|99|2010-03-01T00:00:00.000+0000
    """,
    "post_0_0.csv": """
    id|imageFile|creationDate|locationIP|browserUsed|language|content|length|creator|Forum.id|place
    10|photo10.jpg|2010-04-01T00:00:00.000+0000|1.1.1.1|Opera|||0|1|7|5
    11||2010-04-02T00:00:00.000+0000|1.1.1.1|Opera|en|About é|7|2|7|5
    12||2010-04-02T00:00:00.000+0000|1.1.1.1|Opera|en|By nobody|7|98|7|5
    """,
    "comment_0_0.csv": """
    id|creationDate|locationIP|browserUsed|content|length|creator|place|replyOfPost|replyOfComment
    21|2010-04-04T00:00:00.000+0000|1.1.1.1|Opera|deeper|3|1|5||20
    20|2010-04-03T00:00:00.000+0000|1.1.1.1|Opera|yes|3|2|5|10|
    22|2010-04-03T00:00:00.000+0000|1.1.1.1|Opera|lost|3|2|5||97
    """,
    "person_likes_post_0_0.csv": """
    Person.id|Post.id|creationDate
    2|10|2010-04-05T00:00:00.000+0000
    2|96|2010-04-05T00:00:00.000+0000
    """,
    "person_likes_comment_0_0.csv": """
    Person.id|Comment.id|creationDate
    2|20|2010-04-05T00:00:00.000+0000
    """,
    "updateStream_0_0_person.csv": """
    1290926804528|0|1|3|Akira|Ito|female|365126400000|1290926804528|1.1.1.1|Chrome|698|ja;en|a@b.c|6|1|2
    """,
    "updateStream_0_0_forum.csv": """
    1290926804529|0|2|3|11|1290926804529
    1290926804530|0|3|3|20|1290926804530
    1290926804531|0|4|7|Album|1290926804531|3|5
    1290926804532|0|5|3|7|1290926804532
    1290926804533|0|6|13||1290926804533|1.1.1.1|Opera|en|Streamed|8|3|7|5|
    1290926804534|0|7|23|1290926804534|1.1.1.1|Opera|reply|5|3|5|-1|21|
    1290926804535|0|8|2|3|1290926804535
    """,
  ]

  private func withFiles<T>(
    _ files: [String: String], _ body: (String) throws -> T
  ) throws -> T {
    let directory = FileManager.default.temporaryDirectory.appending(
      path: "ldbc-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    for (name, text) in files {
      try Data((text + "\n").utf8).write(to: directory.appending(path: name))
    }
    return try body(directory.path)
  }

  @Test("snapshot and update streams become events in time order")
  func events() throws {
    let ldbc = try withFiles(Self.files) { try LDBC(directory: $0) }
    #expect(
      ldbc.events.map(\.id) == [
        "ldbc-person-1", "ldbc-person-2", "ldbc-follow-1-2", "ldbc-follow-2-1", "ldbc-post-10",
        "ldbc-post-11", "ldbc-comment-20", "ldbc-comment-21", "ldbc-like-2-10", "ldbc-person-3",
        "ldbc-like-3-11", "ldbc-post-13", "ldbc-comment-23", "ldbc-follow-2-3", "ldbc-follow-3-2",
      ])
    #expect(ldbc.events[0].time.rfc3339 == "2010-02-01T00:00:00.500000Z")
    #expect(
      ldbc.events[0].payload
        == .profileChanged(
          .with {
            ($0.user, $0.nickname, $0.name) = ("1", "Jose Alonso", "Jose Alonso")
            $0.locale = "es"
          }))
    #expect(
      ldbc.events[4].payload
        == .postPublished(
          .with { ($0.post, $0.author, $0.imageURL) = ("10", "1", "photo10.jpg") }))
    #expect(
      ldbc.events[12].payload
        == .commentCreated(
          .with {
            ($0.comment, $0.actor, $0.post, $0.postOwner) = ("23", "3", "10", "1")
            $0.text = "reply"
          }))
    #expect(ldbc.events[12].time.microseconds == 1_290_926_804_534_000)
  }

  @Test("items without a counterpart are counted by name")
  func skipped() throws {
    let ldbc = try withFiles(Self.files) { try LDBC(directory: $0) }
    #expect(
      ldbc.skipped == [
        "likes of comments": 2, "forums": 1, "forum memberships": 1,
        "friendships with an unknown person": 1, "posts by an unknown person": 1,
        "comments that lead up to no known post": 1, "likes of an unknown post": 1,
      ])
  }

  @Test("an unsupported layout is an error that describes the supported one")
  func otherLayout() throws {
    let directory = URL(filePath: NSTemporaryDirectory()).appending(path: "ldbc-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    for person in [
      "id|firstName|lastName|creationDate\n1|A|B|1266161530447\n", "id|firstName|lastName\n",
    ] {
      try Data(person.utf8).write(to: directory.appending(path: "person_0_0.csv"))
      #expect {
        try LDBC(directory: directory.path)
      } throws: { error in
        let text = "\(error)"
        return text.contains("person_0_0.csv") && text.contains("StringDateFormatter")
          && text.contains("CsvMergeForeign")
      }
    }
  }

  @Test("the error for a missing or malformed file names the file and line")
  func malformed() throws {
    func errorMessage(_ name: String, _ text: String?) throws -> String {
      var files = Self.files
      files[name] = text
      return try withFiles(files) { directory in
        do {
          _ = try LDBC(directory: directory)
          return ""
        } catch { return "\(error)" }
      }
    }
    #expect(try errorMessage("post_0_0.csv", nil).contains("post_0_0.csv"))
    #expect(try errorMessage("post_0_0.csv", "id|creator").contains("imageFile"))
    #expect(
      try errorMessage("person_likes_post_0_0.csv", "Person.id|Post.id|creationDate\n1|2|soon")
        .hasPrefix("person_likes_post_0_0.csv:2 "))
    #expect(
      try errorMessage("person_likes_post_0_0.csv", "Person.id|Post.id|creationDate\n1|2")
        .hasPrefix("person_likes_post_0_0.csv:2 "))
    #expect(
      try errorMessage(
        "person_likes_post_0_0.csv", "Person.id|Post.id|creationDate\r\n\r\n1|2|soon\r"
      ).hasPrefix("person_likes_post_0_0.csv:3 has the invalid time \"soon\""))
    #expect(
      try errorMessage("updateStream_0_0_forum.csv", "1|0|9|1|2").hasPrefix(
        "updateStream_0_0_forum.csv:1 "))
    #expect(
      try errorMessage("updateStream_0_0_forum.csv", "1|0|2|3|11|\(Int64.min)").hasPrefix(
        "updateStream_0_0_forum.csv:1 has the invalid time"))
    #expect(throws: LDBCError.self) { try LDBC(directory: "/nonexistent") }
  }

  @Test("a cycle of many replies leads up to no post, and is not walked for each of them")
  func cycleOfReplies() throws {
    let count = 50_000
    var files = Self.files
    let lines = (0..<count).map {
      "\(100 + $0)|2010-04-04T00:00:00.000+0000|||||1|||\(100 + ($0 + 1) % count)"
    }
    files["comment_0_0.csv", default: ""] += "\n" + lines.joined(separator: "\n")
    let ldbc = try withFiles(files) { try LDBC(directory: $0) }
    #expect(ldbc.skipped["comments that lead up to no known post"] == count + 1)
    #expect(ldbc.events.contains { $0.id == "ldbc-comment-21" })
  }

  @Test(
    "the benchmark's published test data becomes valid events",
    .enabled(if: ProcessInfo.processInfo.environment["MAGPIE_LDBC_DIR"] != nil))
  func published() throws {
    let directory = ProcessInfo.processInfo.environment["MAGPIE_LDBC_DIR"] ?? ""
    let ldbc = try LDBC(directory: directory)
    print(Dictionary(grouping: ldbc.events, by: \.type).mapValues(\.count), ldbc.skipped)
    #expect(Set(ldbc.events.map(\.id)).count == ldbc.events.count)
    #expect(ldbc.events.count > 10_000)
  }
}
