import Foundation

/// Renders results as Markdown.
enum Table {
  /// All figures of all scenarios but some.
  static func text(_ results: ResultsFile, without left: [Scenario] = []) -> String {
    let head = "| what | median | min | max | runs |\n|---|---:|---:|---:|---:|\n"
    return Scenario.allCases.filter { !left.contains($0) }.compactMap { scenario -> String? in
      // Its sizes depend on the options.
      if scenario == .scale {
        let scale = Scale(results)
        return scale.points.isEmpty ? nil : scale.table
      }
      if scenario == .pages {
        let pages = PagesTable(results)
        return pages.sizes.isEmpty ? nil : pages.text
      }
      let lines = Measure.all.filter { $0.scenario == scenario }.compactMap { measure in
        results[scenario, measure.key].map { line(measure, $0) }
      }
      guard !lines.isEmpty else { return nil }
      return head + lines.joined(separator: "\n") + "\n"
    }.joined(separator: "\n")
  }

  /// The targets with the measured values.
  static func aims(_ results: ResultsFile) -> String {
    var lines = ["| what | target | median | min to max | |", "|---|---:|---:|---:|---|"]
    for aim in Aim.all {
      guard let spread = results[aim.measure.scenario, aim.measure.key] else { continue }
      let digits = aim.measure.digits
      lines.append(
        "| \(aim.title) | \(aim.isFloor ? "≥" : "≤") \(number(aim.bound, aim.bound < 10 ? 1 : 0)) "
          + "| \(number(spread.median, digits)) "
          + "| \(number(spread.low, digits)) to \(number(spread.high, digits)) "
          + "| \(aim.isMet(spread.median) ? "met" : "**missed**") |")
    }
    let flat = 1.3
    for (entries, ratio) in Scale(results).flatness {
      lines.append(
        "| cost of a delivery at \(number(entries, 0)) entries / at 1,000,000 | ≤ \(number(flat, 1)) "
          + "| \(number(ratio, 2)) | | \(ratio <= flat ? "met" : "**missed**") |")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The effect of each PostgreSQL setting, within each run.
  static func settings(_ results: ResultsFile) -> String {
    var lines = [
      "| setting | deliveries per second | likes per second | WAL bytes per delivery | per like |",
      "|---|---:|---:|---:|---:|",
    ]
    for setting in PostgresSetting.allCases {
      let keys = [
        "deliveriesPerSecond", "likesPerSecond", "logBytesPerDelivery", "logBytesPerLike",
      ]
      let cells = keys.map { key -> String in
        let values = results.scenarios[Scenario.settings.rawValue]?.measured
        guard let found = values?["\(setting.rawValue).\(key)"],
          let usual = values?["usual.\(key)"], found.count == usual.count,
          let spread = Spread(setting == .usual ? found : zip(found, usual).map { $0 / $1 })
        else { return "not measured" }
        let digits = setting == .usual ? 0 : 2
        let range = [spread.low, spread.high].map { number($0, digits) }
        return "\(setting == .usual ? "" : "× ")\(number(spread.median, digits)) "
          + "(\(range.joined(separator: " to ")))"
      }
      lines.append("| \(setting.title) | \(cells.joined(separator: " | ")) |")
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func line(_ measure: Measure, _ spread: Spread) -> String {
    let cells = [spread.median, spread.low, spread.high].map { number($0, measure.digits) }
    return "| \(measure.title) | \(cells.joined(separator: " | ")) | \(spread.count) |"
  }

  /// With thousands separators.
  static func number(_ value: Double, _ digits: Int) -> String {
    let text = String(format: "%.\(digits)f", abs(value))
    let parts = text.split(separator: ".", maxSplits: 1)
    var whole = ""
    for (index, digit) in (parts.first ?? "0").reversed().enumerated() {
      if index > 0, index % 3 == 0 { whole = "," + whole }
      whole = String(digit) + whole
    }
    return (value < 0 ? "-" : "") + whole + (parts.count > 1 ? "." + parts[1] : "")
  }
}

/// The results of `scale` by size.
struct Scale {
  struct Point {
    var people: Double
    var entries: Double
    var microseconds: Double
    var microsecondsAfterCheckpoint: Double
    var logBytes: Double
    /// p50 and p99 of pages of the newest, the middle and the oldest entries, in milliseconds.
    var pages: [(p50: Double, p99: Double)]
    var databaseGiB: Double
  }

  /// Ordered by entries and people.
  var points: [Point] = []

  init(_ results: ResultsFile) {
    let keys = results.scenarios[Scenario.scale.rawValue]?.measured.keys.map { $0 } ?? []
    let names = Set(keys.compactMap { $0.split(separator: ".").first.map(String.init) })
    points = names.compactMap { name in
      func value(_ key: String) -> Double? { results[.scale, "\(name).\(key)"]?.median }
      guard let people = value("people"), let entries = value("entries"),
        let microseconds = value("microsecondsPerDelivery")
      else { return nil }
      return Point(
        people: people, entries: entries, microseconds: microseconds,
        microsecondsAfterCheckpoint: value("afterCheckpoint.microsecondsPerDelivery") ?? .nan,
        logBytes: value("logBytesPerDelivery") ?? .nan,
        pages: ["feedPage", "middlePage", "oldestPage"].map {
          (value("\($0).p50") ?? .nan, value("\($0).p99") ?? .nan)
        },
        databaseGiB: value("databaseGiB") ?? .nan)
    }.sorted { ($0.entries, $0.people) < ($1.entries, $1.people) }
  }

  /// The sizes with 100 entries per person.
  var growing: [Point] { points.filter { $0.entries / $0.people < 200 } }

  /// The cost at each larger size, relative to a million entries.
  var flatness: [(entries: Double, ratio: Double)] {
    guard let small = growing.first(where: { abs($0.entries / 1_000_000 - 1) < 0.2 }) else {
      return []
    }
    return growing.filter { $0.entries > small.entries * 2 }
      .map { ($0.entries, $0.microseconds / small.microseconds) }
  }

  /// The exponent of cost as a function of entries, by least squares on logarithms: 0 is flat.
  var slope: Double? {
    guard growing.count > 1 else { return nil }
    let x = growing.map { log($0.entries) }
    let y = growing.map { log($0.microseconds) }
    let (meanX, meanY) = (x.reduce(0, +) / Double(x.count), y.reduce(0, +) / Double(y.count))
    let above = zip(x, y).reduce(0) { $0 + ($1.0 - meanX) * ($1.1 - meanY) }
    return above / x.reduce(0) { $0 + ($1 - meanX) * ($1 - meanX) }
  }

  var table: String {
    var lines = [
      "| people | existing entries | database, GiB | µs per delivery | the same, right after a checkpoint "
        + "| WAL bytes per delivery | feed_page p50, p99, ms | in the middle of the history | near its end |",
      "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for point in points {
      let cells =
        [
          (point.people, 0), (point.entries, 0), (point.databaseGiB, 1), (point.microseconds, 2),
          (point.microsecondsAfterCheckpoint, 2), (point.logBytes, 0),
        ].map { Table.number($0, $1) }
        + point.pages.map { "\(Table.number($0.p50, 2)), \(Table.number($0.p99, 2))" }
      lines.append("| \(cells.joined(separator: " | ")) |")
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
