import ArgumentParser
import Foundation

struct ReportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Write the tables and plots of docs/performance.md from the saved figures.",
    discussion: """
      Replaces the text between the lines <!-- measured: NAME --> and <!-- end --> of the page, and \
      the SVG files next to the figures. Measures nothing.
      """)

  @Option(help: "The file with the figures.") var results = "docs/performance/results.json"
  @Option(help: "The page.") var page = "docs/performance.md"
  @Option(help: "The page about PostgreSQL's settings.")
  var settingsPage = "docs/operations/postgres.md"

  func run() throws {
    let file = try ResultsFile.load(results)
    guard !file.scenarios.isEmpty else {
      throw ValidationError("\(results) has no figures: run magpie-bench measure first.")
    }
    try write(
      page,
      [
        "machine": machines(file), "aims": Table.aims(file),
        "all": Table.text(file, without: [.pages]),
        "scale": scale(file), "pages": PagesTable(file).text,
      ])
    if file.scenarios[Scenario.settings.rawValue] != nil {
      try write(settingsPage, ["settings": Table.settings(file)])
    }
    try Self.writePlots(file, beside: results)
  }

  static func writePlots(_ file: ResultsFile, beside results: String) throws {
    let directory = URL(filePath: results).deletingLastPathComponent()
    for (name, plot) in plots(file) {
      try Data(plot.utf8).write(to: directory.appending(path: "\(name).svg"), options: .atomic)
    }
  }

  private func write(_ page: String, _ sections: [String: String]) throws {
    var text = try String(contentsOfFile: page, encoding: .utf8)
    for (name, content) in sections { text = try replace(name, in: text, with: content, of: page) }
    try Data(text.utf8).write(to: URL(filePath: page), options: .atomic)
  }

  private func replace(
    _ name: String, in text: String, with content: String, of page: String
  ) throws -> String {
    let opening = "<!-- measured: \(name) -->\n"
    guard let start = text.range(of: opening),
      let end = text.range(of: "<!-- end -->", range: start.upperBound..<text.endIndex)
    else { throw ValidationError("\(page) has no line \(opening)") }
    return text.replacingCharacters(in: start.upperBound..<end.lowerBound, with: content)
  }

  private func machines(_ file: ResultsFile) -> String {
    func name(_ machine: Machine) -> String {
      "\(machine.processors) × \(machine.processor), \(Table.number(machine.memoryGiB, 0)) GiB, "
        + "\(machine.system), \(machine.postgres)"
        + (machine.isReleaseBuild ? "" : " (debug build: figures are meaningless)")
    }
    let names = Set(file.scenarios.values.map { name($0.machine) }).sorted()
    var lines = names.enumerated().map { "\($0 + 1). \($1)" }
    lines.append("")
    lines.append("| scenario | machine | started | load average before, after | `magpie-bench` |")
    lines.append("|---|---:|---|---:|---|")
    for scenario in Scenario.allCases {
      guard let result = file.scenarios[scenario.rawValue],
        let number = names.firstIndex(of: name(result.machine))
      else { continue }
      lines.append(
        "| \(scenario.rawValue) | \(number + 1) | \(result.began) | \(Table.number(result.loadAverageBefore, 1)), "
          + "\(Table.number(result.loadAverageAfter, 1)) | `\(result.command)` |")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func scale(_ file: ResultsFile) -> String {
    let scale = Scale(file)
    let slope = scale.slope.map {
      "\nCost grows with entries to the power of \(Table.number($0, 3)); people grow with entries.\n"
    }
    return scale.table + (slope ?? "")
  }

  private static func plots(_ file: ResultsFile) -> [(String, String)] {
    let aims = Aim.all.compactMap { aim -> Chart.Bar? in
      file[aim.measure.scenario, aim.measure.key].map { spread in
        let shares = [aim.share(spread.low), aim.share(spread.high)]
        return Chart.Bar(
          label: aim.title, value: min(3, aim.share(spread.median)), low: min(3, shares.min() ?? 0),
          high: min(3, shares.max() ?? 0),
          text: Table.number(spread.median, aim.measure.digits)
            + " (\(aim.isFloor ? "≥" : "≤") \(Table.number(aim.bound, aim.bound < 10 ? 1 : 0)))",
          isGood: aim.isMet(spread.median))
      }
    }
    let lanes = Measure.all.filter { $0.scenario == .lanes }.compactMap { measure in
      file[.lanes, measure.key].map { spread in
        // Shows likes and deliveries in one plot, each relative to its own result with one lane.
        let base = file[.lanes, measure.key.split(separator: ".")[0] + ".lanes1"]?.median ?? 1
        return Chart.Bar(
          label: measure.title, value: spread.median / base, low: spread.low / base,
          high: spread.high / base, text: Table.number(spread.median, 0))
      }
    }
    let scale = Scale(file).growing
    return [
      (
        "aims",
        Chart.bars("Measured values relative to the targets (longer is better)", aims, aim: 1)
      ),
      ("latency", latency(file)),
      ("lanes", Chart.bars("Lanes and processes, relative to one lane", lanes)),
      (
        "scale",
        Chart.lines(
          "Cost of a delivery", x: "existing feed entries, 100 per person", y: "µs",
          [
            Chart.Series(label: "later", values: scale.map { ($0.entries, $0.microseconds) }),
            Chart.Series(
              label: "after checkpoint",
              values: scale.map { ($0.entries, $0.microsecondsAfterCheckpoint) }),
          ])
      ),
    ]
  }

  private static func latency(_ file: ResultsFile) -> String {
    let series = ["feeds", "notifications"].flatMap { name in
      ["p50", "p95", "p99"].map { which in
        Chart.Series(
          label: "\(name) \(which)",
          values: loads.compactMap { load in
            file[.latency, "\(name).\(load).\(which)"].map { (Double(load), $0.median) }
          })
      }
    }
    return Chart.lines(
      "Event to visible", x: "load, percent of the measured capacity", y: "ms", series,
      limit: (100, "target: p99 at 50 %"))
  }
}
