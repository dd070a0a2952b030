import ArgumentParser
import Postgres

struct Conversations: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show a person's conversations, the latest message first.")

  @OptionGroup var page: PageOptions
  @OptionGroup var database: DatabaseOptions

  @Option(help: "Show the messages exchanged with this person instead of the list.")
  var with: String?

  func run() throws {
    try page.reportingCursor { try show(database.connect()) }
  }

  private func show(_ connection: Connection) throws {
    if let with {
      let parameters: [Parameter] = [
        .text(page.user), .text(with), .text(page.before), .int4(Int32(page.limit)),
      ]
      if page.json {
        return try printJSONRows(connection, "conversation_page($1, $2, $3, $4)", parameters)
      }
      return try showMessages(connection, parameters)
    }
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
      page.text += "  \(isOwn ? "you: " : "")\(excerpt(try row.text("text")))\n"
    }
    return page
  }

  private func showMessages(_ connection: Connection, _ parameters: [Parameter]) throws {
    let rows = try connection.query("SELECT * FROM conversation_page($1, $2, $3, $4)", parameters)
    var shown = try Page(nothing: "No messages between the two.", rows)
    for row in rows {
      let sender = displayName(try row.text("sender_name"), id: try row.text("sender_id"))
      shown.text += "\(try shortTime(row.timestamptz("sent_at")))  \(Style.cyan(sender))"
      shown.text += "  \(excerpt(try row.text("text")))\n"
    }
    shown.print(page)
  }
}
