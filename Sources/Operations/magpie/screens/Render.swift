import AlarmText
import Alarms
import ArgumentParser
import Events

struct Render: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Render an alarm, with nicknames highlighted.",
    discussion: """
      Needs no server. Cleans, shortens and isolates nicknames and words as the alarm-worker does. With \
      --catalog-dir it also checks the catalogs of a directory: an error names file, key and place, and \
      the exit code is 1.
      """)

  @Option(help: "The kind of alarm, such as like, or its code. `magpie kinds` lists them.")
  var type: String

  @Option(help: "The newest person's nickname. Not for kinds without an actor.")
  var actor: String?

  @Option(help: "The second person's nickname.")
  var other: String?

  @Option(
    parsing: .unconditional,
    help: "The number of people it is about (default: 1, or 2 with --other).")
  var actors: Int?

  @Option(parsing: .unconditional, help: "The number of things that one person did.")
  var count = 1

  @Option(help: "The text of the comment or message.")
  var headText: String?

  @Option(
    name: .customLong("argument"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "An argument of the kind, such as title=Concert. Repeatable.", valueName: "NAME=VALUE"),
    transform: NamedValue.init)
  var arguments: [NamedValue] = []

  @Option(help: "The reader's language, BCP 47 (default: en).")
  var locale: String?

  @Flag(help: "Render in every language, one line each.")
  var allLocales = false

  @Option(
    help: """
      A directory with catalogs and kinds of alarms (ko.arb, kinds.json) that override the built-in ones. \
      [env: MAGPIE_CATALOG_DIR]
      """)
  var catalogDir: String?

  @Flag(help: "Print the JSON that a client receives, one object per language.")
  var json = false

  @Flag(help: "Print one HTML paragraph per language.")
  var html = false

  func validate() throws {
    for (name, value) in [("--actors", actors ?? 1), ("--count", count)] {
      guard (1...1_000_000_000).contains(value) else {
        throw ValidationError("\(name) is \(value), but must be 1 to 1000000000.")
      }
    }
    if allLocales, locale != nil {
      throw ValidationError("--locale and --all-locales exclude each other.")
    }
    if json, html { throw ValidationError("--json and --html exclude each other.") }
  }

  func run() throws {
    let engine = try AlarmTextEngine(
      catalogDirectory: setting(catalogDir, "MAGPIE_CATALOG_DIR"))
    guard let kind = engine.registry.kind(type) else {
      let known = engine.kinds.map { "\($0.name) (\($0.code))" }.joined(separator: ", ")
      throw Failure(.usage, "There is no kind of alarm \(type). There are: \(known).")
    }
    let input = AlarmInput(
      code: kind.code, actor: try checkedActor(kind),
      other: other.map { Actor(id: "other", nickname: $0) },
      actorCount: actors ?? (other == nil ? 1 : 2), count: count, headText: headText,
      arguments: try checkedArguments(kind))
    let locales = allLocales ? engine.locales : [locale ?? "en"]
    let width = locales.map(\.count).max() ?? 0
    for locale in locales {
      let alarm = try engine.render(input, locale: locale)
      if json {
        Console.output.line(escapedJSONForDisplay(String(decoding: alarm.json, as: UTF8.self)))
      } else if html {
        let (language, direction) = (alarm.locale, alarm.direction.rawValue)
        Console.output.line("<p lang=\"\(language)\" dir=\"\(direction)\">\(alarm.html)</p>")
      } else {
        let padding = String(repeating: " ", count: width + 2 - locale.count)
        let label = allLocales ? Style.dim(locale) + padding : ""
        let segments = alarm.segments.map { ShownSegment(kind: $0.kind.name, text: $0.text) }
        Console.output.line(label + highlighted(segments))
      }
    }
  }

  private func checkedActor(_ kind: AlarmKind) throws -> Actor? {
    switch (kind.actor, actor) {
    case (.required, nil):
      throw Failure(.usage, "\(excerpt(kind.name)) alarms need an actor; add --actor NICKNAME.")
    case (.none, .some):
      throw Failure(.usage, "\(excerpt(kind.name)) alarms name nobody; remove --actor.")
    default: return actor.map { Actor(id: "actor", nickname: $0) }
    }
  }

  private func checkedArguments(_ kind: AlarmKind) throws -> [String: String] {
    var values: [String: String] = [:]
    for argument in arguments { values[argument.name] = argument.value }
    do throws(KindError) {
      return try kind.checked(values)
    } catch {
      let name = error.field.split(separator: ".").last ?? ""
      throw Failure(.usage, "--argument \(excerpt(String(name))) \(error.message).")
    }
  }
}
