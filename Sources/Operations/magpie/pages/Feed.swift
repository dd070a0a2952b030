import ArgumentParser
import Postgres

struct Feed: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "What a person's Following feed shows.")

  @OptionGroup var page: PageOptions
  @OptionGroup var database: DatabaseOptions

  func run() throws {
    try page.asking { try show(database.connect()) }
  }

  private func show(_ connection: Connection) throws {
    if page.json {
      return try printJSONRows(connection, "feed_page($1, $2, $3)", page.parameters)
    }
    let (shown, count) = try Self.page(connection, page)
    shown.print(page, rows: count)
    if count == 0 { Standard.output.line("Nothing: no posts by people they follow.") }
  }

  static func page(_ connection: Connection, _ options: PageOptions) throws -> (Page, Int) {
    let rows = try connection.query(
      """
      SELECT p.post_id, p.author_id, p.title, p.caption, p.image_url, p.published_at, p.cursor,
        profiles.nickname, stats.likes, stats.comments
      FROM feed_page($1, $2, $3) WITH ORDINALITY AS p
      LEFT JOIN profiles ON profiles.user_id = p.author_id
      LEFT JOIN LATERAL post_stats(p.post_id) AS stats ON true
      ORDER BY p.ordinality
      """, options.parameters)
    var page = Page(cursor: try rows.last?.text("cursor"))
    for row in rows {
      let author = displayName(try row.textOrNil("nickname"), id: try row.text("author_id"))
      let likes = try row.intOrNil("likes") ?? 0
      let comments = try row.intOrNil("comments") ?? 0
      page.text += "\(try shortTime(row.timestamptz("published_at")))  \(Style.cyan(author))"
      page.text += "  \(Style.bold(excerpt(try row.textOrNil("title") ?? "")))"
      page.text += "  ♥ \(likes)  💬 \(comments)\n"
      for column in ["caption", "image_url"] {
        let text = try row.textOrNil(column) ?? ""
        if !text.isEmpty { page.text += "    \(excerpt(text))\n" }
      }
    }
    return (page, rows.count)
  }
}
