import ArgumentParser
import Foundation
import Workload

struct MeasureCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "measure",
    abstract: "Run scenarios and save their figures in a JSON file.",
    discussion: """
      Each scenario's figures replace its earlier ones in the file, so scenarios can be run one at a \
      time. Ratios are taken within a run; `magpie-bench report` produces medians, ranges, tables and \
      plots.

      \(Scenario.allCases.map { "\($0.rawValue): \($0.abstract)" }.joined(separator: "\n"))
      """)

  @Option(help: "Run only these scenarios, separated by commas.") var only: String?
  @Option(help: "Runs of each scenario.") var runs = 5
  @Option(help: "The file with the figures.") var results = "docs/performance/results.json"
  @Flag(help: "Print the figures of this command as one JSON object.") var json = false
  @Flag(help: "Only check that everything works: one small run, no file is changed.")
  var quick = false

  @Option(help: "Random seed; equal seeds produce equal workloads.")
  var seed: UInt64 = 1
  @Option(help: "scale: numbers of existing feed entries, separated by commas.")
  var entries = "1000000,10000000"
  @Option(help: "pages: numbers of people, separated by commas.")
  var people = "1000,100000,1000000"
  @Option(help: "graph: a CSV file with the columns follower,followee.") var follows: String?
  @Option(help: "graph: a CSV file with the columns author,[post],[time]; times as in RFC 3339.")
  var posts: String?
  @Option(help: "Likes in a burst of notifications.") var likes = 60_000
  @Option(
    name: .customLong("postgres"),
    help: ArgumentHelp(
      "A PostgreSQL setting, such as jit=off. May be repeated.", valueName: "name=value"))
  var postgres: [String] = []

  @Option(
    name: .customLong("kafka"),
    help: ArgumentHelp(
      "A librdkafka property of the workers, such as linger.ms=0. May be repeated.",
      valueName: "name=value"))
  var kafka: [String] = []

  @Option(help: "Append PostgreSQL's log to this file, such as auto_explain's output.")
  var serverLog: String?

  func run() throws {
    // A quick run uses a temporary results file.
    let temporary = FileManager.default.temporaryDirectory.appending(
      path: "magpie-bench-\(getpid())")
    defer { try? FileManager.default.removeItem(at: temporary) }
    let results = quick ? temporary.appending(path: "results.json").path : self.results
    let scenarios = try self.scenarios()
    var file = try ResultsFile.load(results)
    var measured: [String: ScenarioResult] = [:]
    for scenario in scenarios {
      var result = ScenarioResult(
        command: CommandLine.arguments.dropFirst().joined(separator: " "), machine: .current())
      let count = quick ? 1 : scenario.runs(runs)
      for number in 1...count {
        progress("\(scenario.rawValue): run \(number) of \(count)")
        let bench = Bench(
          isQuick: quick, seed: seed &+ UInt64(number - 1), likes: likes,
          entries: try numbers(entries, "--entries", 10_000),
          people: try numbers(people, "--people", 200), graph: graph(),
          settings: try pairs(postgres, "--postgres"),
          kafka: try pairs(kafka, "--kafka"),
          serverLog: serverLog)
        do {
          result.add(try scenario.measure(bench))
        } catch let error as CSVError {
          progress("Error: \(error)")
          throw ExitCode(65)  // EX_DATAERR of sysexits.h
        }
      }
      result.finish()
      measured[scenario.rawValue] = result
      file.scenarios[scenario.rawValue] = result
      try file.save(results)
    }
    if quick { try ReportCommand.writePlots(file, beside: results) }
    if json {
      print(try ResultsFile(scenarios: measured).text())
    } else {
      print(Table.text(ResultsFile(scenarios: measured)))
      if scenarios.contains(.settings) {
        print(Table.settings(ResultsFile(scenarios: measured)))
      }
    }
  }

  func validate() throws {
    guard runs > 0, likes > 0, likes <= 150_000 else {
      throw ValidationError(
        "--runs must be at least 1, and --likes 1 to 150000: the embedded broker keeps 5 MiB per "
          + "partition.")
    }
    let files = [follows, posts].compactMap { $0 }
    guard files.count == (try scenarios().contains(.graph) ? 2 : 0) || quick && files.isEmpty else {
      throw ValidationError(
        "--only graph reads the files --follows and --posts; the other scenarios read none.")
    }
    for file in files where !FileManager.default.isReadableFile(atPath: file) {
      throw ValidationError("\(file) cannot be read.")
    }
    _ = try (
      pairs(postgres, "--postgres"), pairs(kafka, "--kafka"),
      numbers(entries, "--entries", 10_000), numbers(people, "--people", 200)
    )
  }

  private func scenarios() throws -> [Scenario] {
    guard let only else { return quick ? Scenario.quick : Scenario.usual }
    return try only.split(separator: ",").map { name in
      guard let scenario = Scenario(rawValue: String(name)) else {
        throw ValidationError(
          "--only \(name): must be one of \(Scenario.allCases.map(\.rawValue).joined(separator: ", "))."
        )
      }
      return scenario
    }
  }

  private func graph() -> Bench.Graph? {
    guard let follows, let posts else { return nil }
    return Bench.Graph(follows: follows, posts: posts)
  }

  private func pairs(_ list: [String], _ option: String) throws -> [String: String] {
    try Dictionary(
      list.map { pair in
        let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else {
          throw ValidationError("\(option) takes name=value, not \(pair).")
        }
        return (parts[0], parts[1])
      }, uniquingKeysWith: { $1 })
  }

  private func numbers(_ list: String, _ option: String, _ least: Int) throws -> [Int] {
    try list.split(separator: ",").map { text in
      guard let number = Int(text.replacing("_", with: "")), number >= least else {
        throw ValidationError("\(option) takes numbers of at least \(least), not \(text).")
      }
      return number
    }
  }
}

/// The parameters of a scenario.
struct Bench {
  var isQuick: Bool
  var seed: UInt64
  var likes: Int
  var entries: [Int]
  var people: [Int]
  /// The files of `graph`; nil: small ones are generated.
  var graph: Graph?
  /// PostgreSQL settings that override the defaults.
  var settings: [String: String]
  /// librdkafka properties of the workers that override the defaults.
  var kafka: [String: String]
  /// The file that PostgreSQL's log is appended to.
  var serverLog: String?

  struct Graph {
    var follows: String
    var posts: String
  }
}

/// Prints a line on standard error.
func progress(_ line: String) {
  FileHandle.standardError.write(Data((line + "\n").utf8))
}
