import ArgumentParser
import Postgres

struct Settings: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show what a person has turned off: kinds of alarms, subjects, people.")

  @OptionGroup var person: PersonOptions
  @OptionGroup var database: DatabaseOptions

  func run() throws {
    let connection = try database.connect()
    if person.json { return try printJSONRows(connection, "mutes($1)", [.text(person.user)]) }
    Console.output.write(try Self.page(connection, user: person.user).textOrNothing)
  }

  static func page(_ connection: Connection, user: String) throws -> Page {
    let rows = try connection.query("SELECT * FROM mutes($1)", [.text(user)])
    var page = Page(nothing: "Nothing is turned off.", count: rows.count)
    for row in rows {
      let parts = [try row.text("kind"), try row.text("value")].filter { !$0.isEmpty }
      page.text += "\(try shortTime(row.timestamptz("since")))  \(try row.text("scope"))"
      page.text += "  \(Style.cyan(parts.map { excerpt($0) }.joined(separator: " ")))"
      let name = try row.text("name")
      if !name.isEmpty { page.text += " \(excerpt(name))" }
      if try !row.isNull("until") {
        page.text += "  until \(try shortTime(row.timestamptz("until")))"
      }
      page.text += "\n"
    }
    return page
  }
}

/// The person whose rows to show, for functions that return all rows.
struct PersonOptions: ParsableArguments {
  @Argument(help: "The person's id.")
  var user: String

  @Flag(help: "Print one JSON object per row: the columns of the SQL function (docs/sql.md).")
  var json = false

  func validate() throws { try checkUser(user) }
}
