import AlarmText
import Alarms
import ArgumentParser

struct KindsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kinds",
    abstract: "List the kinds of alarms, and check an operator's own.",
    discussion: "docs/alarm-text/catalogs.md describes how to add kinds and sentences.",
    subcommands: [KindsList.self, KindsCheck.self], defaultSubcommand: KindsList.self)

  /// An engine with an operator's directory on top of the built-in kinds and catalogs.
  static func engine(_ directory: String?) throws -> AlarmTextEngine {
    do throws(CatalogError) {
      return try AlarmTextEngine(catalogDirectory: directory)
    } catch { throw Failure(.invalidData, error.description) }
  }
}
