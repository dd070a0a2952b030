import Foundation
import LaneSimulation

extension Simulation.Report {
  /// The report as text.
  func text(seed: UInt64) -> String {
    let width = Transition.all.map(\.description.count).max() ?? 0
    var lines = zip(Transition.all, coverage.counts).map { transition, count in
      transition.description.padding(toLength: width + 2, withPad: " ", startingAt: 0) + "\(count)"
    }
    lines += ["", "Injected hazards:"]
    lines += zip(Hazard.allCases, hazards).map { "  \($0): \($1)" }
    lines += [
      "",
      "\(schedules) schedules (SEED=\(seed)), \(steps) steps in \(rounded(seconds)) s: "
        + "\(Int(Double(schedules) / max(seconds, 0.001))) schedules/s",
      "\(Transition.all.count - coverage.missing.count) of \(Transition.all.count) transitions taken",
    ]
    lines += coverage.missing.map { "NEVER TAKEN: \($0)" }
    lines += coverage.unlisted.map { "NOT LISTED: \($0): \($1)" }
    lines += failures.map {
      "FAILED: SEED=\($0.seed) step \($0.violation.step): \($0.violation.rule.rawValue): "
        + $0.violation.detail
    }
    lines.append(failures.isEmpty ? "No rule was broken." : "\(failures.count) schedules failed.")
    return lines.joined(separator: "\n")
  }

  /// The report as JSON.
  func json(seed: UInt64) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let report = JSONReport(
      seed: seed, schedules: schedules, steps: steps, seconds: seconds,
      schedulesPerSecond: Double(schedules) / max(seconds, 0.001),
      transitions: Dictionary(
        uniqueKeysWithValues: zip(Transition.all.map(\.description), coverage.counts)),
      neverTaken: coverage.missing.map(\.description),
      notListed: coverage.unlisted.keys.map(\.description).sorted(),
      hazards: Dictionary(
        uniqueKeysWithValues: zip(Hazard.allCases.map { "\($0)" }, hazards)),
      failures: failures.map {
        .init(
          seed: $0.seed, step: $0.violation.step, rule: $0.violation.rule.rawValue,
          detail: $0.violation.detail)
      })
    return String(decoding: try encoder.encode(report), as: UTF8.self)
  }

  private func rounded(_ seconds: Double) -> String { String(format: "%.1f", seconds) }
}

private struct JSONReport: Encodable {
  struct Failure: Encodable {
    var seed: UInt64
    var step: Int
    var rule: String
    var detail: String
  }

  var seed: UInt64
  var schedules: Int
  var steps: Int
  var seconds: Double
  var schedulesPerSecond: Double
  var transitions: [String: Int]
  var neverTaken: [String]
  var notListed: [String]
  var hazards: [String: Int]
  var failures: [Failure]
}
