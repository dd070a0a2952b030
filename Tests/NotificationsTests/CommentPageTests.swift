import Events
import Notifications
import Postgres
import TestSupport
import Testing

@Suite("comment_page")
struct CommentPageTests {
  @Test("pages through a post's comments, newest first, without removed ones")
  func pages() throws {
    let world = try World()
    let comments = (0..<7).map { n in
      comment("c:\(n)", by: "ann", on: "p", of: "o", "text \(n)", at: Double(n / 2))
    }
    try world.apply(comments + [removal("c:3", by: "ann", on: "p", of: "o", at: 9)])
    try world.apply(comment("elsewhere", by: "ann", on: "q", of: "o", at: 1))
    _ = try world.connection.query("SET ROLE magpie_reader")
    var seen: [String] = []
    var cursor: String?
    for _ in 0..<10 {
      let page = try world.connection.query(
        "SELECT * FROM comment_page($1, $2, 2)", [.text("p"), .text(cursor)])
      if page.isEmpty { break }
      #expect(page.count <= 2)
      seen += try page.map { try $0.text("comment_id") }
      cursor = try page[page.count - 1].text("cursor")
    }
    #expect(seen == ["c:6", "c:5", "c:4", "c:2", "c:1", "c:0"])
  }

  @Test("an edited comment keeps its place")
  func edited() throws {
    let world = try World()
    try world.apply(
      comment("c1", by: "ann", on: "p", of: "o", "1", at: 1),
      comment("c2", by: "ann", on: "p", of: "o", "2", at: 2),
      comment("c1", by: "ann", on: "p", of: "o", "one", at: 3))
    let page = try world.connection.query(
      "SELECT comment_id, text FROM comment_page('p', NULL, NULL)")
    #expect(try page.map { "\(try $0.text(0)) \(try $0.text(1))" } == ["c2 2", "c1 one"])
  }
}
