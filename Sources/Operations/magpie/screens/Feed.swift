import ArgumentParser
import Postgres

struct Feed: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a person's Following feed.")

  @OptionGroup var page: PageOptions
  @OptionGroup var database: DatabaseOptions

  func run() throws {
    try page.reportingCursor { try show(database.connect()) }
  }

  private func show(_ connection: Connection) throws {
    if page.json {
      return try printJSONRows(connection, "feed_page($1, $2, $3)", page.parameters)
    }
    try Self.page(connection, page).print(page)
  }

  static func page(_ connection: Connection, _ options: PageOptions) throws -> Page {
    let rows = try connection.query(
      """
      SELECT p.post_id, p.author_id, p.title, p.caption, p.image_url, p.published_at, p.cursor,
        profiles.nickname, stats.likes, stats.comments
      FROM feed_page($1, $2, $3) WITH ORDINALITY AS p
      LEFT JOIN profiles ON profiles.user_id = p.author_id
      LEFT JOIN LATERAL post_stats(p.post_id) AS stats ON true
      ORDER BY p.ordinality
      """, options.parameters)
    var page = try Page(nothing: "No posts by people they follow.", rows)
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
    return page
  }
}
