import AlarmText
import ArgumentParser

struct KindsList: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the kinds of alarms: grouping, actor, arguments, icon and links.",
    discussion: "An argument in brackets is optional. Needs no server.")

  @Option(
    help: """
      A directory with kinds (kinds.json) that are added to the built-in ones or replace them. \
      [env: MAGPIE_CATALOG_DIR]
      """)
  var catalogDir: String?

  @Flag(
    help: """
      Print one JSON object per kind: code, name, message, group, actor, arguments, deepLinks, \
      badgeIcon, highlight.
      """)
  var json = false

  private struct Shown: Encodable {
    struct Argument: Encodable {
      var name: String
      var type: String
      var bytes: Int
      var optional: Bool
    }

    var code: String
    var name: String
    var message: String
    var group: String
    var actor: String
    var arguments: [Argument]
    var deepLinks: [String]
    var badgeIcon: String
    var highlight: String
    var several: String?
    var interruption: String

    init(_ kind: AlarmKind) {
      code = kind.code.description
      name = kind.name
      message = kind.messageKey
      group = kind.isGrouped ? "day" : "none"
      actor = kind.actor.rawValue
      arguments = kind.arguments.map {
        Argument(
          name: $0.name, type: $0.type.rawValue, bytes: $0.bytesMax, optional: $0.isOptional)
      }
      deepLinks = kind.deepLinks
      badgeIcon = kind.badgeIcon
      highlight = kind.highlightStyle
      several = kind.severalKey
      interruption = kind.interruption.rawValue
    }

    var cells: [String] {
      let arguments = arguments.map { $0.optional ? "[\($0.name)]" : $0.name }
      return [
        code, name, group, actor, arguments.joined(separator: " "), badgeIcon,
        deepLinks.first ?? "",
      ].map { excerpt($0) }
    }
  }

  func run() throws {
    let engine = try KindsCommand.engine(setting(catalogDir, "MAGPIE_CATALOG_DIR"))
    let kinds = engine.kinds.map(Shown.init)
    if json {
      for kind in kinds { printJSON(kind) }
      return
    }
    let header = ["code", "name", "group", "actor", "arguments", "icon", "link"]
    let rows = [header] + kinds.map(\.cells)
    let widths = header.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    for (index, row) in rows.enumerated() {
      let last = row.count - 1
      let cells = row.enumerated().map { column, cell in
        column == last ? cell : cell + String(repeating: " ", count: widths[column] - cell.count)
      }
      let line = cells.joined(separator: "  ")
      Console.output.line(index == 0 ? Style.dim(line) : line)
    }
  }
}
