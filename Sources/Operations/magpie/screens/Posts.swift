import ArgumentParser
import Postgres

struct Home: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show all posts as a person sees them.")

  @OptionGroup var page: PageOptions
  @OptionGroup var database: DatabaseOptions

  func run() throws {
    try page.showPosts(
      "home_page($1, $2, $3)", page.parameters, database, nothing: "No posts.")
  }
}

struct Feed: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a person's Following feed.")

  @OptionGroup var page: PageOptions
  @OptionGroup var database: DatabaseOptions

  private static let call = "feed_page($1, $2, $3)"
  private static let nothing = "No posts by people they follow."

  func run() throws {
    try page.showPosts(Self.call, page.parameters, database, nothing: Self.nothing)
  }

  static func page(_ connection: Connection, _ options: PageOptions) throws -> Page {
    try postsPage(connection, call, options.parameters, nothing: nothing)
  }
}

struct Post: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a post with its comments, as a person sees them.")

  @OptionGroup var page: PageOptions
  @OptionGroup var database: DatabaseOptions

  @Argument(help: "The post's id.")
  var post: String

  @Flag(help: "Show the people who like it instead of the comments.")
  var likers = false

  @Flag(help: "Show only a page of comments, without the post.")
  var comments = false

  func validate() throws {
    if likers, comments { throw ValidationError("--likers and --comments exclude each other.") }
  }

  func run() throws {
    try page.reportingCursor { try show(database.connect()) }
  }

  private func show(_ connection: Connection) throws {
    if !likers, !comments {
      let viewed: [Parameter] = [.text(page.user), .text(post)]
      if page.json {
        return try printJSONRows(connection, "post($1, $2)", viewed)
      }
      let shown = try postsPage(
        connection, "post($1, $2)", viewed, nothing: "No such post, or not for this person.")
      Console.output.write(shown.textOrNothing)
    }
    let parameters: [Parameter] = [
      .text(page.user), .text(post), .text(page.before), .int4(Int32(page.limit)),
    ]
    if likers {
      return try page.showPeople(
        connection, "likers_page($1, $2, $3, $4)", parameters, nothing: "Nobody likes it.")
    }
    if page.json {
      return try printJSONRows(connection, "comment_page($1, $2, $3, $4)", parameters)
    }
    let rows = try connection.query("SELECT * FROM comment_page($1, $2, $3, $4)", parameters)
    var shown = try Page(nothing: "No comments.", rows)
    for row in rows {
      let writer = try displayName(row.text("actor_name"), id: row.text("actor_id"))
      let edited = try row.isNull("edited_at") ? "" : Style.dim("  edited")
      shown.text += "  \(try shortTime(row.timestamptz("created_at")))  \(Style.cyan(writer))"
      shown.text += "  \(excerpt(try row.text("text")))\(edited)\n"
    }
    shown.print(page)
  }
}

extension PageOptions {
  func showPosts(
    _ call: String, _ parameters: [Parameter], _ database: DatabaseOptions, nothing: String
  ) throws {
    try reportingCursor {
      let connection = try database.connect()
      if json { return try printJSONRows(connection, call, parameters) }
      try postsPage(connection, call, parameters, nothing: nothing).print(self)
    }
  }
}

/// A page of posts: two or three lines for each row of a function that returns `post_row`.
func postsPage(
  _ connection: Connection, _ call: String, _ parameters: [Parameter], nothing: String
) throws -> Page {
  let rows = try connection.query("SELECT * FROM \(call)", parameters)
  var page = try Page(nothing: nothing, rows)
  for row in rows {
    let author = try displayName(row.text("author_name"), id: row.text("author_id"))
    let heart = try row.bool("is_liked") ? Style.red("♥") : "♡"
    let edited = try row.isNull("edited_at") ? "" : Style.dim("  edited")
    page.text += "\(try shortTime(row.timestamptz("published_at")))  \(Style.cyan(author))"
    page.text += "  \(Style.bold(excerpt(try row.text("title"))))"
    page.text += "  \(heart) \(try row.int8("likes"))  💬 \(try row.int8("comments"))\(edited)\n"
    for column in ["caption", "image_url"] {
      let text = try row.text(column)
      if !text.isEmpty { page.text += "    \(excerpt(text))\n" }
    }
  }
  return page
}
