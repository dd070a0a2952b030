import Foundation
import Postgres

/// The figures of all scenarios, as saved and committed.
struct ResultsFile: Codable {
  var scenarios: [String: ScenarioResult] = [:]

  static func load(_ path: String) throws -> ResultsFile {
    guard let data = FileManager.default.contents(atPath: path) else { return ResultsFile() }
    return try JSONDecoder().decode(ResultsFile.self, from: data)
  }

  func save(_ path: String) throws {
    let directory = URL(filePath: path).deletingLastPathComponent()
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    try Data((try text() + "\n").utf8).write(to: URL(filePath: path), options: .atomic)
  }

  func text() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  /// All values of a measure, one per run.
  subscript(scenario: Scenario, key: String) -> Spread? {
    scenarios[scenario.rawValue]?.measured[key].flatMap(Spread.init)
  }
}

/// The figures of one run, by name.
typealias Measured = [String: Double]

/// The runs of one scenario.
struct ScenarioResult: Codable {
  var command: String
  var machine: Machine
  var began = Date.now.ISO8601Format()
  var loadAverageBefore = ScenarioResult.loadAverage()
  var loadAverageAfter = 0.0
  /// By the measure's name, one value per run.
  var measured: [String: [Double]] = [:]

  init(command: String, machine: Machine) {
    self.command = command
    self.machine = machine
  }

  mutating func add(_ run: Measured) {
    for (key, value) in run where value.isFinite { measured[key, default: []].append(value) }
  }

  mutating func finish() { loadAverageAfter = Self.loadAverage() }

  /// The one-minute load average.
  private static func loadAverage() -> Double {
    var averages = [0.0]
    return getloadavg(&averages, 1) == 1 ? averages[0] : 0
  }
}

/// The median and range of several runs.
struct Spread {
  var median: Double
  var low: Double
  var high: Double
  var count: Int

  init?(_ values: [Double]) {
    let sorted = values.sorted()
    guard let low = sorted.first, let high = sorted.last else { return nil }
    (self.low, self.high, count) = (low, high, sorted.count)
    let middle = sorted.count / 2
    median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }
}

/// The percentile of sorted values, by nearest rank.
func percentile(_ percent: Double, of sorted: [Double]) -> Double {
  guard !sorted.isEmpty else { return .nan }
  let rank = (percent / 100 * Double(sorted.count)).rounded(.up)
  return sorted[min(sorted.count - 1, max(0, Int(rank) - 1))]
}
