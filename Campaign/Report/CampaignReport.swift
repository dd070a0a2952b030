import Foundation

/// The results of all rounds.
struct CampaignReport: Codable {
  var rounds: [RoundReport] = []
  /// Seeds of rounds without a result, because the embedded broker aborted.
  var void: [UInt64] = []

  var findings: [Finding] { rounds.flatMap(\.findings) }

  /// The kinds of evidence that no round produced.
  var unproved: [String] {
    guard var common = rounds.first?.unproved else { return ["no round completed"] }
    for round in rounds { common.removeAll { !round.unproved.contains($0) } }
    return common
  }

  func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  var text: String {
    var lines = [
      "\(rounds.count) round(s), seeds \(rounds.map { "\($0.seed)" }.joined(separator: " ")), commit "
        + "\(rounds.first?.commit ?? "unknown"), \(number(sum(\.seconds) / 60)) minutes of faults"
    ]
    if !void.isEmpty {
      lines.append(
        "void          seeds \(void.map { "\($0)" }.joined(separator: " ")): the embedded broker aborted"
      )
    }
    lines.append(
      "events        \(sum(\.events)) in the log, \(sum(\.acknowledged)) records acknowledged, "
        + "\(sum(\.producerFailures)) sent again, \(sum(\.takenForResent)) lost by the embedded broker"
    )
    lines.append("commits       \(sum(\.commits))")
    lines.append("fences        \(sum(\.fences))")
    lines.append(
      "ambiguous     \(sum(\.ambiguous.committed)) committed, \(sum(\.ambiguous.notCommitted)) not "
        + "committed, \(sum(\.ambiguous.fenced)) fenced")
    lines.append(
      "rebalances    \(sum(\.rebalances)) assignments, \(sum(\.handoversWithWork)) partitions moved "
        + "with records waiting")
    lines.append("dead letters  \(sum(\.deadLetters))")
    lines.append("reads         \(sum(\.reads))")
    lines.append(
      "throughput    \(rate(\.throughputDuringFaults)) offsets/s during faults, "
        + "\(rate(\.throughputOtherwise)) otherwise")
    lines.append(
      "applied       at most \(number(rounds.compactMap(\.drainedAfter).max() ?? 0)) s after the last "
        + "healing")
    lines.append("faults        fired    recovery: p50     p99     max (s)")
    for (kind, count) in total(\.faults).sorted(by: { $0.key < $1.key }) {
      let recovery = RoundReport.Recovery(rounds.flatMap { $0.recovery[kind] ?? [] })
      lines.append(
        "  " + padded(kind, 24) + padded("\(count)", 12)
          + [recovery.p50, recovery.p99, recovery.max].map { padded(number($0), 8) }.joined())
    }
    for text in unproved { lines.append("NOT PROVED: \(text)") }
    for round in rounds {
      for finding in round.findings { lines.append("FOUND, seed \(round.seed): \(finding)") }
    }
    lines.append(findings.isEmpty ? "nothing was found" : "\(findings.count) findings")
    return lines.joined(separator: "\n")
  }

  private func sum<Number: AdditiveArithmetic>(_ value: KeyPath<RoundReport, Number>) -> Number {
    rounds.reduce(.zero) { $0 + $1[keyPath: value] }
  }

  private func total(_ value: KeyPath<RoundReport, [String: Int]>) -> [String: Int] {
    rounds.reduce(into: [:]) { $0.merge($1[keyPath: value], uniquingKeysWith: +) }
  }

  private func rate(_ value: KeyPath<RoundReport, Double?>) -> String {
    let rates = rounds.compactMap { $0[keyPath: value] }
    return rates.isEmpty ? "-" : number(rates.reduce(0, +) / Double(rates.count))
  }

  private func number(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }

  private func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }
}
