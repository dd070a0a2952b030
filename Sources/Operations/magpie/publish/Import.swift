import ArgumentParser
import Events
import Workload

struct Import: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Convert data of another system to events.", subcommands: [ImportLDBC.self])
}

struct ImportLDBC: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ldbc-snb",
    abstract:
      "The LDBC Social Network Benchmark's files (Interactive v1, CSV, merged foreign keys).",
    discussion: """
      Snapshot and update streams become events in time order: people as profiles, friendships as \
      two follows, posts, comments on the root post of their thread, likes of posts. Data without a \
      counterpart is counted by name. Importing twice changes nothing.
      """)

  @Argument(help: "The directory with person_0_0.csv and so on.")
  var directory: String

  @OptionGroup var destination: EventDestination

  @Flag(help: "Print one JSON object: events by type, and what was skipped by name.")
  var json = false

  private struct Imported: Encodable {
    var events: Int
    var types: [String: Int]
    var skipped: [String: Int]
  }

  func run() throws {
    let data = try LDBC(directory: directory)
    let count = try destination.deliver(data.events, of: data.events.count)
    let types = data.events.reduce(into: [:]) { $0[$1.type.rawValue, default: 0] += 1 }
    if json {
      if destination.output != "-" {
        printJSON(Imported(events: count, types: types, skipped: data.skipped))
      }
      return
    }
    for (type, count) in types.sorted(by: { $0.key < $1.key }) {
      Console.error.line("\(count) \(type)")
    }
    for (name, count) in data.skipped.sorted(by: { $0.key < $1.key }) {
      Console.error.line("\(count) skipped: \(name)")
    }
    Console.error.line(
      "\(count) events \(destination.output == nil ? "acknowledged" : "written")")
  }
}
