/// The results of `pages`, by function and number of people.
struct PagesTable {
  let sizes: [Int]
  private let measured: Measured

  init(_ results: ResultsFile) {
    self.init(
      (results.scenarios[Scenario.pages.rawValue]?.measured ?? [:])
        .compactMapValues { Spread($0)?.median })
  }

  init(_ measured: Measured) {
    self.measured = measured
    sizes = Set(measured.keys.compactMap { Int($0.prefix { $0 != "." }) }).sorted()
  }

  private func value(_ size: Int, _ key: String) -> Double { measured["\(size).\(key)"] ?? .nan }

  private func ratio(_ page: PageQuery, _ size: Int) -> Double {
    value(size, "\(page.name).quiet.p50") / value(size, "\(page.name).byHand.p50")
  }

  /// The largest ratio of a function's p50 to that of the hand-written query.
  var worstRatio: Double? {
    PageQuery.all.flatMap { page in sizes.map { ratio(page, $0) } }.max()
  }

  /// The largest ratio of a function's p50 with the most people to that with the fewest.
  var worstGrowth: Double? {
    guard let fewest = sizes.first, let most = sizes.last, fewest < most else { return nil }
    return PageQuery.all.map {
      value(most, "\($0.name).quiet.p50") / value(fewest, "\($0.name).quiet.p50")
    }.max()
  }

  var text: String {
    var lines = [
      "| function | people | rows | p50, ms | p99 | per second | by hand: p50 | p99 | per second "
        + "| p50 / by hand | writing: p50 | p99 | per second |",
      "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    let columns = ["quiet", "byHand", "writing"].map { phase in
      [("p50", 2), ("p99", 2), ("perSecond", 0)].map { ("\(phase).\($0)", $1) }
    }
    for page in PageQuery.all {
      for size in sizes {
        func cells(_ columns: [(String, Int)]) -> [String] {
          columns.map { Table.number(value(size, "\(page.name).\($0)"), $1) }
        }
        let row =
          [Table.number(Double(size), 0)] + cells([("quiet.rows", 1)]) + cells(columns[0])
          + cells(columns[1]) + [Table.number(ratio(page, size), 2)] + cells(columns[2])
        lines.append("| `\(page.name)` | \(row.joined(separator: " | ")) |")
      }
    }
    lines += [
      "",
      "| people | database, GiB | seconds to load | posts per second at capacity | likes "
        + "| seconds behind after writing at half of it |",
      "|---:|---:|---:|---:|---:|---:|",
    ]
    for size in sizes {
      let row = [
        ("databaseGiB", 2), ("loadingSeconds", 0), ("postsPerSecond", 0), ("likesPerSecond", 0),
        ("secondsBehind", 2),
      ].map { Table.number(value(size, $0), $1) }
      lines.append("| \(Table.number(Double(size), 0)) | \(row.joined(separator: " | ")) |")
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
