import ArgumentParser
import Foundation

/// Measures the whole embedded pipeline beside its bounds, each ratio within one run.
@main
struct PipelineBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "magpie-bench",
    abstract:
      "Measure throughput from Kafka to committed rows beside raw SQL, COPY and librdkafka.",
    discussion: """
      Everything runs on this machine: a private durable PostgreSQL, the embedded broker, and the \
      real worker executables beside this one. Each figure is the median of --runs runs; a ratio \
      is taken within a run first. Exit status 1 when something was lost or doubled on the way.
      """)

  @Option(help: "Authors.") var authors = 40
  @Option(help: "Followers of each author.") var followers = 300
  @Option(help: "Posts; deliveries are posts x followers.") var posts = 2000
  @Option(help: "Likes.") var likes = 20_000
  @Option(help: "Lanes of each worker.") var lanes = 1
  @Option(help: "Runs.") var runs = 5
  @Flag(help: "Only check that it runs: one run of a tenth of the size.") var quick = false
  @Flag(help: "Print one JSON object instead of a table.") var json = false

  func validate() throws {
    guard authors > 0, followers > 0, posts > 0, likes > 0, runs > 0, lanes > 0 else {
      throw ValidationError("Every number must be at least 1.")
    }
    // Of 250 bytes each in 4 partitions of 5 MiB.
    guard likes <= 60_000, posts <= 40_000, authors * followers <= 60_000 else {
      throw ValidationError(
        "The embedded broker keeps 5 MiB a partition: at most 60000 likes, 40000 posts and 60000 "
          + "follows.")
    }
  }

  mutating func run() throws {
    if quick {
      (authors, followers, posts, likes) = (
        authors / 4 + 1, followers / 4 + 1, posts / 10 + 1, likes / 10 + 1
      )
      runs = 1
    }
    var results: [[Measure: Double]] = []
    for number in 1...runs {
      FileHandle.standardError.write(Data("run \(number) of \(runs)\n".utf8))
      let stack = try BenchStack(lanes: lanes)
      defer { stack.stop() }
      var measured: [Measure: Double] = [:]
      try measureFanout(stack, into: &measured)
      try measureRebuild(stack, into: &measured)
      try measureNotifications(stack, into: &measured)
      try measureConsumption(stack, into: &measured)
      results.append(measured)
    }
    report(results)
  }

  private func report(_ results: [[Measure: Double]]) {
    var summary: [Measure: (low: Double, median: Double, high: Double)] = [:]
    for measure in Measure.allCases {
      let values = results.compactMap { $0[measure] }.sorted()
      guard let low = values.first, let high = values.last else { continue }
      summary[measure] = (low, values[values.count / 2], high)
    }
    if json {
      let pairs = summary.sorted { $0.key.rawValue < $1.key.rawValue }.map { measure, value in
        "\"\(measure.rawValue)\":{\"min\":\(value.low),\"median\":\(value.median),"
          + "\"max\":\(value.high)}"
      }
      print("{\(pairs.joined(separator: ","))}")
      return
    }
    print(
      "\(authors) authors with \(followers) followers each, \(posts) posts, \(likes) likes; "
        + "\(lanes) lane a worker, \(runs) runs, \(ProcessInfo.processInfo.processorCount) processors\n"
    )
    print("| what | median | min | max |\n|---|---:|---:|---:|")
    for measure in Measure.allCases {
      guard let value = summary[measure] else { continue }
      let cells = [value.median, value.low, value.high].map {
        String(format: "%.\(measure.digits)f", $0)
      }
      print("| \(measure.title) | \(cells.joined(separator: " | ")) |")
    }
  }
}
