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

  @Flag(help: "Show only a page of comments, as `magpie comments` does.")
  var comments = false

  func validate() throws {
    if likers, comments { throw ValidationError("--likers and --comments exclude each other.") }
  }

  func run() throws {
    try page.reportingCursor { try show(database.connect()) }
  }

  private func show(_ connection: Connection) throws {
    if likers {
      return try page.showPeople(
        connection, "likers_page($1, $4, $2, $3)", page.parameters + [.text(post)],
        nothing: "Nobody likes it.")
    }
    if !comments {
      if page.json {
        return try printJSONRows(connection, "post($1, $2)", [.text(page.user), .text(post)])
      }
      Console.output.write(try Self.page(connection, viewer: page.user, post: post).textOrNothing)
    }
    try Comments.show(connection, page, post: post)
  }

  static func page(_ connection: Connection, viewer: String, post: String) throws -> Page {
    try postsPage(
      connection, "post($1, $2)", [.text(viewer), .text(post)],
      nothing: "No such post, or not for this person.")
  }
}

struct Comments: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a post's comments, the newest first, as a person sees them.")

  @OptionGroup var page: PageOptions
  @OptionGroup var database: DatabaseOptions

  @Argument(help: "The post's id.")
  var post: String

  func run() throws {
    try page.reportingCursor { try Self.show(database.connect(), page, post: post) }
  }

  private static let call = "comment_page($1, $4, $2, $3)"

  static func show(_ connection: Connection, _ options: PageOptions, post: String) throws {
    if options.json {
      return try printJSONRows(
        connection, call, options.parameters + [.text(post)])
    }
    try page(connection, options, post: post).print(options)
  }

  static func page(_ connection: Connection, _ options: PageOptions, post: String) throws -> Page {
    let rows = try connection.query(
      "SELECT * FROM \(call)", options.parameters + [.text(post)])
    var page = try Page(nothing: "No comments.", rows)
    for row in rows {
      let writer = try displayName(row.text("actor_name"), id: row.text("actor_id"))
      let edited = try row.isNull("edited_at") ? "" : Style.dim("  edited")
      page.text += "  \(try shortTime(row.timestamptz("created_at")))  \(Style.cyan(writer))"
      page.text += "  \(excerpt(try row.text("text")))\(edited)\n"
    }
    return page
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

/// A page of posts: a few lines for each row of a function that returns `post_row`.
func postsPage(
  _ connection: Connection, _ call: String, _ parameters: [Parameter], nothing: String
) throws -> Page {
  let rows = try connection.query("SELECT * FROM \(call)", parameters)
  var page = try Page(nothing: nothing, rows)
  for row in rows {
    let author = try displayName(row.text("author_name"), id: row.text("author_id"))
    let heart = try row.bool("is_liked") ? Style.red("♥") : "♡"
    let edited = try row.isNull("edited_at") ? "" : "  edited"
    // Names and texts of any direction last.
    page.text += "\(try shortTime(row.timestamptz("published_at")))\(Style.dim(edited))"
    page.text += "  \(heart) \(try row.int8("likes"))  💬 \(try row.int8("comments"))"
    page.text += "  \(Style.cyan(author))\(try imageURL(row.text("author_image_url")))\n"
    for column in ["title", "caption", "image_url"] {
      let text = excerpt(try row.text(column))
      if text.isEmpty { continue }
      page.text += "    \(column == "title" ? Style.bold(text) : text)\n"
    }
  }
  return page
}
