import ArgumentParser
import Foundation
import Verification

/// The options of the output of a comparison.
struct ComparisonOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Also write a report as a self-contained HTML file.", valueName: "file"))
  var html: String?

  @Option(
    parsing: .unconditional,
    help: "The number of differing rows to print per table and kind: 1 to 100000 (default: 20).")
  var samples: Int?

  func validate() throws {
    if let samples, !(1...100_000).contains(samples) {
      throw ValidationError("--samples is \(samples), but must be 1 to 100000.")
    }
  }

  var report: ComparisonReport { ComparisonReport(samplesMax: samples ?? 20) }
}

/// The names of the two sides of a comparison.
struct ComparisonWords {
  var title: String
  var expected: String
  var found: String
}

/// Prints the report, then writes the HTML file; throws `ExitCode` 1 if there are differences.
func show(
  _ report: ComparisonReport, _ words: ComparisonWords, notes: [String],
  options: ComparisonOptions, json: Bool
) throws {
  if json { printJSONLines(report) } else { printText(report, words) }
  if let file = options.html {
    let page = HTMLReport(
      title: words.title, expected: words.expected, found: words.found, notes: notes)
    do {
      try Data(page.page(report).utf8).write(to: URL(filePath: file))
    } catch {
      throw Failure(unwritable: file, error)
    }
  }
  guard report.isEqual else { throw ExitCode(Failure.Code.found.rawValue) }
}

private func printText(_ report: ComparisonReport, _ words: ComparisonWords) {
  let width = report.tables.map(\.name.count).max() ?? 0
  for table in report.tables {
    let name = table.name + String(repeating: " ", count: width - table.name.count)
    let rows = String(repeating: " ", count: max(0, 10 - "\(table.expected)".count))
    let late = table.inFlight > 0 ? Style.dim(", \(table.inFlight) in flight") : ""
    Console.output.line(
      "\(name)  \(rows)\(table.expected) rows  \(verdict(table.counts))\(late)")
    for sample in table.samples { printText(sample, words) }
    let rest = table.counts.total - table.samples.count
    if rest > 0 { Console.output.line(Style.dim("    and \(rest) more; --samples shows them")) }
  }
  let people = report.worst(10)
  guard !people.isEmpty else {
    Console.output.line(Style.green("equal: \(report.rows) rows"))
    return
  }
  let more = report.ofOtherPeople > 0 ? " and more" : ""
  Console.output.line(
    Style.red("\(report.total) rows differ, concerning \(report.peopleCount)\(more) people:"))
  for person in people {
    let tables = person.tables.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    Console.output.line(
      "  \(excerpt(name(person.id)))  \(person.counts.total) (\(tables.joined(separator: ", ")))")
  }
  if report.peopleCount > people.count {
    Console.output.line(Style.dim("  and \(report.peopleCount - people.count) more"))
  }
}

private func printText(_ difference: Difference, _ words: ComparisonWords) {
  let key = difference.key.isEmpty ? "" : " / " + difference.key.joined(separator: " / ")
  Console.output.line("    \(difference.kind.rawValue)  \(excerpt(name(difference.person) + key))")
  guard difference.kind == .different else { return }
  for column in difference.columns {
    Console.output.line(
      "        \(column.name): \(words.expected) \(quoted(column.expected)), "
        + "\(words.found) \(quoted(column.found))")
  }
}

private func name(_ person: String) -> String { person.isEmpty ? "(nobody)" : person }

private func quoted(_ text: String?) -> String {
  text.map { "\"\(excerpt($0, characters: 100))\"" } ?? "none"
}

private func verdict(_ counts: ComparisonReport.Counts) -> String {
  let parts = [
    (counts.missing, "missing"), (counts.extra, "extra"), (counts.different, "different"),
  ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
  return parts.isEmpty ? Style.green("equal") : Style.red(parts.joined(separator: ", "))
}

private struct SampleLine: Encodable {
  var table: String
  var kind: String
  var person: String
  var key: [String]
  var columns: [Difference.Column]
}

private struct PersonLine: Encodable {
  var person: String
  var missing: Int
  var extra: Int
  var different: Int
  var tables: [String: Int]
}

private struct TableLine: Encodable {
  var table: String
  var tableGroup: String?
  var expected: Int
  var found: Int
  var missing: Int
  var extra: Int
  var different: Int
  var inFlight: Int
}

private struct TotalLine: Encodable {
  var equal: Bool
  var rows: Int
  var differences: Int
  var people: Int
  var differencesOfOtherPeople: Int
}

private func printJSONLines(_ report: ComparisonReport) {
  for table in report.tables {
    for sample in table.samples {
      printJSON(
        SampleLine(
          table: sample.table, kind: sample.kind.rawValue, person: sample.person,
          key: sample.key, columns: sample.columns))
    }
    printJSON(
      TableLine(
        table: table.name, tableGroup: table.group?.rawValue, expected: table.expected,
        found: table.found, missing: table.counts.missing, extra: table.counts.extra,
        different: table.counts.different, inFlight: table.inFlight))
  }
  for person in report.worst(report.peopleMax) {
    printJSON(
      PersonLine(
        person: person.id, missing: person.counts.missing, extra: person.counts.extra,
        different: person.counts.different, tables: person.tables))
  }
  printJSON(
    TotalLine(
      equal: report.isEqual, rows: report.rows, differences: report.total,
      people: report.peopleCount, differencesOfOtherPeople: report.ofOtherPeople))
}
