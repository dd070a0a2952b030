import ArgumentParser
import Postgres

struct DevicesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices",
    abstract: "Show a person's devices, to which alarms are pushed.",
    discussion: """
      Tokens are never shown. A device is inactive if its token has moved to another person or \
      installation, or if the provider says that it is gone.
      """)

  @Argument(help: "The person's id.") var user: String

  @Flag(help: "Print one JSON object per row: the columns of device_page (docs/sql.md).")
  var json = false

  @OptionGroup var database: DatabaseOptions

  func validate() throws { try checkUser(user) }

  func run() throws {
    let connection = try database.connect()
    if json { return try printJSONRows(connection, "device_page($1)", [.text(user)]) }
    let rows = try connection.query("SELECT * FROM device_page($1)", [.text(user)])
    if rows.isEmpty { Console.output.line("No devices.") }
    for row in rows { Console.output.line(try Self.line(row)) }
  }

  private static func line(_ row: Row) throws -> String {
    let (provider, app) = (try row.text("provider"), try row.text("app"))
    let scope = try row.text("scope")
    var line = try "\(Style.cyan(excerpt(row.text("installation"))))  \(provider) \(excerpt(app))"
    if scope != app { line += " \(excerpt(scope))" }
    line += Style.dim("  since \(moment(try row.timestamptz("registered_at")))")
    if try !row.bool("is_active") { line += "  inactive" }
    if let state = try row.textOrNil("last_state"), let at = try row.timestamptzOrNil("last_at") {
      let answer = try row.textOrNil("last_answer").map { " (\(excerpt($0)))" } ?? ""
      line += try "  last: \(row.text("last_purpose")) \(state)\(answer) \(moment(at))"
    }
    return line
  }
}
