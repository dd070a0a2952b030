import AlarmText
import ArgumentParser

struct KindsCheck: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Check the kinds and catalogs of a directory.",
    discussion: """
      Exit code 65 if a file is invalid, as a worker would reject it: the error names file, key and \
      place. Otherwise every kind has a sentence in every locale; the output lists the locales in \
      which it is the default locale's, and plurals without all the forms of the language. Needs no \
      server.
      """)

  @Option(
    help: """
      A directory with catalogs and kinds of alarms (ko.arb, kinds.json) that override the built-in \
      ones. [env: MAGPIE_CATALOG_DIR]
      """)
  var catalogDir: String?

  @Flag(
    help: """
      Print one JSON object per locale: locale, kinds (names of those without a sentence), plurals \
      (the missing categories by kind).
      """)
  var json = false

  private struct Shown: Encodable {
    var locale: String
    var kinds: [String]
    var plurals: [String: [String]]
  }

  func run() throws {
    guard let directory = setting(catalogDir, "MAGPIE_CATALOG_DIR") else {
      throw ValidationError("Missing --catalog-dir or MAGPIE_CATALOG_DIR.")
    }
    let engine = try KindsCommand.engine(directory)
    let gaps = Dictionary(uniqueKeysWithValues: engine.gaps.map { ($0.locale, $0) })
    for locale in engine.locales {
      let gaps = gaps[locale] ?? CatalogGaps(locale: locale, kinds: [], plurals: [:])
      if json {
        printJSON(Shown(locale: locale, kinds: gaps.kinds, plurals: gaps.plurals))
        continue
      }
      if !gaps.kinds.isEmpty {
        Console.output.line(
          "\(locale): no sentence for \(gaps.kinds.map { excerpt($0) }.joined(separator: ", "))")
      }
      for (kind, categories) in gaps.plurals.sorted(by: { $0.key < $1.key }) {
        Console.output.line(
          "\(locale): \(excerpt(kind)) lacks the plural \(categories.joined(separator: ", "))")
      }
    }
    guard !json else { return }
    Console.output.line("\(engine.kinds.count) kinds, \(engine.locales.count) locales: valid")
  }
}
