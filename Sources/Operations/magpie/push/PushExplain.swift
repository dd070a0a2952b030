import ArgumentParser
import Events
import Foundation
import Postgres

struct PushExplain: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Explain whether an alarm was pushed: to which devices, when, and with what answers.",
    discussion: "Or why it was not. The alarm's id is in `magpie alarms --json`.")

  @Argument(help: "The alarm's notification id, a UUID.") var alarm: String

  @Flag(help: "Print one JSON object per device: the columns of push_explanation (docs/sql.md).")
  var json = false

  @OptionGroup var database: DatabaseOptions

  func validate() throws {
    guard UUID(uuidString: alarm) != nil else {
      throw ValidationError("ALARM is not a UUID; `magpie alarms --json` shows them.")
    }
  }

  func run() throws {
    let (id, connection) = (Parameter.uuid(UUID(uuidString: alarm)), try database.connect())
    let status = try connection.query("SELECT * FROM push_status($1)", [id])
    guard let row = status.first else { throw Failure(.found, "There is no such alarm.") }
    if json { return try printJSONRows(connection, "push_explanation($1)", [id]) }
    Console.output.line(
      try "\(row.text("kind")) to \(excerpt(row.text("recipient"))), raised "
        + moment(row.timestamptzOrNil("raised_at") ?? 0))
    for reason in try Self.reasons(row) { Console.output.line(reason) }
    for device in try connection.query("SELECT * FROM push_explanation($1)", [id]) {
      Console.output.line(try Self.line(device))
    }
  }

  /// What is true of the alarm now and keeps it from being pushed, or from staying.
  static func reasons(_ row: Row) throws -> [String] {
    var reasons: [String] = []
    if try row.int("active_devices") == 0 { reasons.append("The person has no active device.") }
    if try !row.bool("shown") {
      reasons.append("It is not shown: withdrawn, deleted, muted or blocked.")
    } else if try !row.bool("unread") {
      reasons.append("It is read.")
    }
    if try row.bool("is_silent") { reasons.append("The person does not want this kind pushed.") }
    if try row.bool("waits_for_digest") { reasons.append("It waits for the person's digest.") }
    if let due = try row.timestamptzOrNil("due_at") {
      let why =
        switch try row.textOrNil("held") {
        case "quiet": "quiet hours end"
        case "burst": "a burst ends"
        default: "push-worker looks at it again"
        }
      reasons.append("Waiting until \(moment(due)), when \(why).")
    }
    return reasons
  }

  static func line(_ row: Row) throws -> String {
    let device = try "\(Style.cyan(excerpt(row.text("installation")))) (\(row.text("provider")))"
    guard let state = try row.textOrNil("state"), let purpose = try row.textOrNil("purpose") else {
      return "\(device): nothing was sent" + (try row.bool("is_active") ? "" : "; it is inactive")
    }
    var line =
      try "\(device): \(words(purpose)) \(state), claimed "
      + moment(row.timestamptz("claimed_at"))
    if let at = try row.timestamptzOrNil("answered_at"), let answer = try row.textOrNil("answer") {
      line += ", answered \(excerpt(answer)) \(moment(at))"
    }
    let attempts = try row.int("attempts")
    if attempts > 1 { line += ", \(attempts) attempts" }
    if let due = try row.timestamptzOrNil("due_at") { line += ", again \(moment(due))" }
    return line
  }

  private static func words(_ purpose: String) -> String {
    purpose == "part" ? "alert (with others)" : purpose
  }
}

/// A time as RFC 3339.
func moment(_ microseconds: Int64) -> String { EventTime(microseconds: microseconds).rfc3339 }
