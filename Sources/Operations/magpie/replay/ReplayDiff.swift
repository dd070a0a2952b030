import Foundation
import Kafka
import Postgres
import Rebuild
import Verification

extension Replay {
  private struct DiffPlan: Encodable {
    var tables: [String]
    var schema: String
    var recordsBehind: Int64
  }

  /// Compares the rebuilt tables with the live tables at the same offsets.
  func runDiff() throws {
    let rebuild = try Rebuild(rebuildSettings())
    defer { rebuild.close() }
    let (schema, names) = try rebuild.rebuilt()
    let groups = Set(names.compactMap { CanonicalTable.Group(rawValue: $0.rawValue) })
    if dryRun {
      let plan = DiffPlan(
        tables: CanonicalTable.all.filter { groups.contains($0.group) }.map(\.name), schema: schema,
        recordsBehind: try rebuild.swapPlan(back: false).recordsBehind)
      if json { return printJSON(plan) }
      return Console.output.line(
        "Would compare \(plan.tables.joined(separator: ", ")) in \(schema) with those in use, after "
          + "applying \(plan.recordsBehind) records to these. Nothing was changed.")
    }
    let diff = SchemaDiff(
      try connect(), later: { try connect() }, log: try logOpener()(), prefix: kafka.prefix,
      groups: groups)
    var shown = Progress(forced: progress)
    let start = ContinuousClock.now
    let report = try diff.run(
      report: comparison.report, progress: { shown.show("\($0): \($1) rows compared") },
      advance: { offsets in
        try rebuild.advance(to: offsets)
        let connection = try connect()
        let path = [schema, rebuild.liveSchema].map {
          "\"" + $0.replacing("\"", with: "\"\"") + "\""
        }
        try connection.script("SET search_path = \(path.joined(separator: ", "))")
        return connection
      })
    shown.clear()
    let note = try ErasureState.note(connect())
    let took = (ContinuousClock.now - start).formatted(.time(pattern: .hourMinuteSecond))
    try show(
      report,
      ComparisonWords(
        title: "Rebuilt tables against those in use", expected: "rebuilt", found: "in use"),
      notes: [
        "Rebuilt: \(names.map(\.rawValue).joined(separator: ", ")), in the schema \(schema); "
          + "compared in \(took)",
        "At \(Date.now.formatted(.iso8601))",
      ] + note,
      options: comparison, json: json)
  }

  private func connect() throws -> Connection {
    try database.connect(statementTimeoutSeconds: 24 * 3600)
  }
}
