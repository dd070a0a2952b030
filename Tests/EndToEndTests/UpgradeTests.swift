import EmbeddedStack
import Events
import Foundation
import Model
import Postgres
import TestSupport
import Testing

@testable import Schema
@testable import Verification

/// Migrating a database while workers use it that do not know the migration.
@Suite(.serialized) struct UpgradeTests {
  /// A migration after the existing ones.
  private func migration(_ number: Int, compatibleFrom: Int?, _ sql: String) -> Migration {
    let header = compatibleFrom.map { "-- compatible-from: \($0)\n" } ?? ""
    return Migration(Migrations.all.count + number, "further_\(number)", Array((header + sql).utf8))
  }

  private func endSessions(_ stack: Stack) throws {
    try stack.connection().query(
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND query NOT LIKE 'autovacuum%'
      """)
  }

  @Test("workers that reconnect to a newer schema continue if it is compatible, and wait otherwise")
  func newerSchema() async throws {
    var generator = SeededGenerator()
    let stack = try Stack(partitions: 2)
    defer { stack.stop() }
    let log = try stack.generated(users: 40, events: 1500, generator: &generator)
    let workers = try Stack.workers.map { try stack.start($0) }
    try stack.publish(log[..<500])
    try await stack.waitUntilApplied()

    let compatible = migration(
      1, compatibleFrom: Migrations.all.count,
      "ALTER TABLE posts ADD COLUMN further text; CREATE TABLE further (x int);")
    try Migrations.apply(stack.connection(), Migrations.all + [compatible])
    try endSessions(stack)
    try stack.publish(log[500..<1000])
    try await waitUntilConsumed(stack)
    expectRunning(workers, stack)

    // A migration that is incompatible with this code.
    let incompatible = migration(2, compatibleFrom: nil, "CREATE TABLE further_2 (x int);")
    try Migrations.apply(stack.connection(), Migrations.all + [compatible, incompatible])
    try endSessions(stack)
    try stack.publish(log[1000...])
    for worker in Stack.workers {
      try await eventually("\(worker) logs what it waits for") {
        stack.log(of: worker).contains("further_2), which this code does not know and is not")
      }
      let port = try #require(httpPort(of: worker, stack))
      try await eventually("\(worker) is not ready, and reports why") {
        let answer = LocalHTTP.get("/readyz", port: port, timeoutSeconds: 5, bytesMax: 10_000)
        return answer?.status == 503 && answer?.body.contains("waiting for: schema") == true
      }
    }
    expectRunning(workers, stack)

    // These workers may apply the log again.
    try stack.connection().query(
      "DELETE FROM schema_migrations WHERE version > $1", [.int4(Int32(Migrations.all.count))])
    try await waitUntilConsumed(stack)
    try await stack.waitUntilApplied()
    expectRunning(workers, stack)
    let model = Model(try log.map { try StructuredEvent.decode(String($0)) })
    let differences = try ModelComparison(model: model, connection: stack.connection())
      .differences()
    #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
  }

  @Test("workers that start before their migration is applied wait for it")
  func missingSchema() async throws {
    var generator = SeededGenerator()
    let stack = try Stack(partitions: 2)
    defer { stack.stop() }
    let log = try stack.generated(users: 20, events: 300, generator: &generator)
    let last = try stack.connection().query(
      "DELETE FROM schema_migrations WHERE version = $1 RETURNING name, checksum",
      [.int4(Int32(Migrations.all.count))]
    ).only
    let workers = try Stack.workers.map { try stack.start($0) }
    for worker in Stack.workers {
      try await eventually("\(worker) logs what is missing") {
        stack.log(of: worker).contains("run: magpie migrate")
      }
    }
    try stack.connection().query(
      "INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)",
      [
        .int4(Int32(Migrations.all.count)), .text(try last.text(0)), .text(try last.text(1)),
      ])
    try stack.publish(log)
    try await stack.waitUntilApplied()
    expectRunning(workers, stack)
    let model = Model(try log.map { try StructuredEvent.decode(String($0)) })
    let differences = try ModelComparison(model: model, connection: stack.connection())
      .differences()
    #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
  }

  private func expectRunning(_ workers: [ChildProcess], _ stack: Stack) {
    let ended = workers.filter { !$0.isRunning }.map { String(describing: $0.exit) }
    #expect(ended == [], "\(stack.logTails)")
  }

  /// Waits until the workers have applied all records, including those that workers publish.
  private func waitUntilConsumed(_ stack: Stack) async throws {
    try await eventually("no lag: \(stack.logTails)") {
      let lag = try stack.magpie("lag", "--json")
      return lag.output.split(separator: "\n").last?.contains("\"total\":0") == true
    }
  }

  private func httpPort(of worker: String, _ stack: Stack) -> UInt16? {
    stack.log(of: worker).split(separator: "\n").last { $0.contains("serving /livez") }
      .flatMap { line in
        line.firstMatch(of: /address=\[[^\]]*\][^:]*:(\d+)/).flatMap { UInt16($0.1) }
      }
  }
}
