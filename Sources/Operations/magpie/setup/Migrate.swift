import ArgumentParser
import Postgres
import Schema

struct Migrate: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Migrate the database to this version's schema.",
    discussion: """
      Forward only, under an advisory lock: running it twice, or from two places at once, is safe. \
      Needs a role that may create tables and roles.
      """)

  @OptionGroup var database: DatabaseOptions

  @Flag(
    help: """
      Change nothing; exit 69 if migrations are missing, 1 if the database has others than this version.
      """)
  var check = false

  @Flag(help: "Print one JSON object per applied migration: version, name.")
  var json = false

  private struct Applied: Encodable {
    var version: Int
    var name: String
  }

  func run() throws {
    let connection = try database.connect(statementTimeoutSeconds: 3600)
    if check {
      try Migrations.check(connection)
      if !json { Console.output.line("The schema is up to date.") }
      return
    }
    let applied = try Migrations.apply(connection)
    for migration in applied {
      if json {
        printJSON(Applied(version: migration.version, name: migration.name))
      } else {
        Console.output.line("applied \(migration.fileName)")
      }
    }
    if applied.isEmpty, !json { Console.output.line("The schema is up to date.") }
    try warnAboutLocale(of: connection)
  }
}

/// Warns if search in this database knows ASCII letters only.
func warnAboutLocale(of connection: Connection) throws {
  let locale = try connection.query(
    "SELECT datctype::text FROM pg_database WHERE datname = current_database()"
  ).only.text(0)
  guard ["C", "POSIX"].contains(locale) else { return }
  say(
    """
    warning: the database's LC_CTYPE is \(locale), with which search treats no letter beyond ASCII \
    as a letter. It cannot be changed: create another database with TEMPLATE template0 \
    ENCODING 'UTF8' LC_CTYPE 'C.UTF-8', and use that one; pg_dump moves the data.
    """)
}
