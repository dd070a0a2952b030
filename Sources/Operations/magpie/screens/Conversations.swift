import ArgumentParser
import Postgres

struct Conversations: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a person's conversations, the latest message first.")

  @OptionGroup var page: PageOptions
  @OptionGroup var database: DatabaseOptions

  @Option(help: "Show the messages exchanged with this person, as `magpie chat` does.")
  var with: String?

  func run() throws {
    try page.reportingCursor { try show(database.connect()) }
  }

  private func show(_ connection: Connection) throws {
    if let with { return try Chat.show(connection, page, peer: with) }
    if page.json {
      return try printJSONRows(connection, "conversation_list($1, $2, $3)", page.parameters)
    }
    try Self.page(connection, page).print(page)
  }

  static func page(_ connection: Connection, _ options: PageOptions) throws -> Page {
    let rows = try connection.query(
      "SELECT * FROM conversation_list($1, $2, $3)", options.parameters)
    var page = try Page(nothing: "No conversations.", rows)
    for row in rows {
      let peer = displayName(try row.text("peer_name"), id: try row.text("peer_id"))
      let isOwn = try row.text("sender_id").utf8.elementsEqual(options.user.utf8)
      page.text += "\(try shortTime(row.timestamptz("sent_at")))  \(Style.cyan(peer))"
      page.text += try imageURL(row.text("peer_image_url"))
      let unread = try row.int("unread")
      if unread > 0 { page.text += "  ● \(unread > 99 ? "99+" : "\(unread)") unread" }
      page.text += "\n"
      page.text += "    \(isOwn ? "you: " : "")\(excerpt(try row.text("text")))\n"
    }
    return page
  }
}

struct Chat: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the messages between two people, the newest first. ✓: the receiver has read it."
  )

  @OptionGroup var page: PageOptions
  @OptionGroup var database: DatabaseOptions

  @Argument(help: "The other person's id.")
  var peer: String

  func run() throws {
    try page.reportingCursor { try Self.show(database.connect(), page, peer: peer) }
  }

  private static let call = "conversation_page($1, $4, $2, $3)"

  static func show(_ connection: Connection, _ options: PageOptions, peer: String) throws {
    if options.json {
      return try printJSONRows(
        connection, call, options.parameters + [.text(peer)])
    }
    try page(connection, options, peer: peer).print(options)
  }

  static func page(_ connection: Connection, _ options: PageOptions, peer: String) throws -> Page {
    let rows = try connection.query(
      "SELECT * FROM \(call)", options.parameters + [.text(peer)])
    var page = try Page(nothing: "No messages between the two.", rows)
    for row in rows {
      let sender = displayName(try row.text("sender_name"), id: try row.text("sender_id"))
      page.text += "\(try shortTime(row.timestamptz("sent_at")))  \(Style.cyan(sender))"
      page.text += "  \(excerpt(try row.text("text")))"
      page.text += try row.bool("is_read") ? "  ✓\n" : "\n"
    }
    return page
  }
}
