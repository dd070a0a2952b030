import Foundation
import Postgres
import Schema

/// How long a swap waits for, and blocks, other sessions.
public struct SwapPolicy: Sendable {
  /// The maximum number of attempts.
  public var attemptsMax = 5
  /// How long to keep catching up with workers that are about as fast, before blocking them.
  public var catchUpWait: Duration = .seconds(60)
  /// The maximum estimated time that applying the last records may block the workers.
  public var workersWait: Duration = .seconds(20)
  /// How long each attempt additionally blocks the workers while waiting for readers.
  public var readersWait: Duration = .seconds(5)
  /// How long one attempt to lock the tables may block new readers.
  public var lockMilliseconds = 250
  /// Whether to swap without first catching up with the live tables. Readers then see older data
  /// until the workers have caught up. Refused if the incoming tables have not read somebody's erasure.
  public var skipsCatchUp = false

  public init() {}
}

/// The outcome of a swap.
public struct SwapReport: Sendable {
  public var tableGroups: [TableGroup]
  /// The schema that holds the former tables.
  public var formerSchema: String
  /// How long the workers were blocked.
  public var workersHeld: Duration
  /// The maximum time that a reader may have been blocked.
  public var readersHeld: Duration
  /// The number of attempts.
  public var attempts: Int
}

extension Rebuild {
  /// Swaps the rebuilt tables with the live ones in one transaction, and keeps the former live
  /// tables.
  ///
  /// Workers block at their next batch while the last records are applied to the rebuilt tables;
  /// then they are fenced and continue at the rebuilt tables' offsets. Readers see either set of
  /// tables, never a mixture, and never lose rows that they have already seen: see docs/decisions.
  ///
  /// - Throws: `RebuildError` when a reader blocks the swap for too long; nothing has changed then.
  public func swap(_ policy: SwapPolicy = SwapPolicy()) throws -> SwapReport {
    if try ShadowSchema.find(.old, beside: liveSchema, control) != nil {
      throw RebuildError(
        "the former tables of an earlier swap still exist", ShadowSchema.removal(of: .old))
    }
    return try swap(try shadow(), policy)
  }

  /// Swaps the former tables back, and keeps the rebuilt ones.
  public func swapBack(_ policy: SwapPolicy = SwapPolicy()) throws -> SwapReport {
    try swap(former(), policy)
  }

  func former() throws -> ShadowSchema {
    guard let schema = try ShadowSchema.find(.old, beside: liveSchema, control) else {
      throw RebuildError(
        "there are no former tables",
        "They exist after `magpie replay --swap` and until --drop-old."
      )
    }
    guard schema.topicPrefix == settings.topicPrefix else { throw otherPrefix(schema) }
    return schema
  }

  private func swap(_ schema: ShadowSchema, _ policy: SwapPolicy) throws -> SwapReport {
    let transaction = SwapTransaction(schema: schema, connection: control)
    try refuseUnfitLogin()
    try transaction.check()
    var obstacle = Obstacle(what: "", holders: [])
    try transaction.carryReminders()
    for attempt in 1...max(1, policy.attemptsMax) {
      if !policy.skipsCatchUp {
        let left = try catchUp(schema, patience: policy.catchUpWait)
        guard left < policy.workersWait else {
          throw RebuildError(
            "applying the last records would block the workers for about "
              + "\(Int(left / .seconds(1))) s",
            "Run it again when the load is lower.")
        }
      }
      try transaction.retractMissingAlarms()
      try transaction.carryDigests()
      counter.begin("swapping")
      settings.onProgress(counter.progress)
      // Checks for long-running readers before blocking the workers.
      if let found = try transaction.olderReaders(within: policy.readersWait, than: nil) {
        obstacle = found
        continue
      }
      do {
        var report = try attemptSwap(transaction, policy)
        report.attempts = attempt
        return report
      } catch let found as Obstacle {
        obstacle = found
        Thread.sleep(forTimeInterval: Double.random(in: 0.05...0.5) * Double(attempt))
      }
    }
    throw RebuildError(
      "\(obstacle.what): \(obstacle.holders.joined(separator: "; "))",
      "Nothing was changed. Wait until these transactions end or end them "
        + "(SELECT pg_terminate_backend(pid)), and try again.")
  }

  private func attemptSwap(_ transaction: SwapTransaction, _ policy: SwapPolicy) throws
    -> SwapReport
  {
    let schema = transaction.schema
    let started = ContinuousClock.now
    do {
      try control.script(
        """
        BEGIN;
        SET LOCAL lock_timeout = '10s';
        SET LOCAL idle_in_transaction_session_timeout = '60s';
        """)
      // The database may have been migrated since the schema was found.
      try Migrations.exclude(control)
      try schema.checkVersion(control)
      // A table lock, unlike a row lock, needs no transaction ID, so snapshots taken from now on
      // can be told from older ones by their xmin.
      try control.script(
        "LOCK TABLE \(quoted(schema.live)).consumer_offsets IN EXCLUSIVE MODE")
      if policy.skipsCatchUp {
        try transaction.refuseUnreadErasures()
      } else {
        try advance(schema, to: try targets(schema), runsBacklog: false)
      }
      let applied = try transaction.snapshotBoundary()
      if let found = try transaction.olderReaders(within: policy.readersWait, than: applied) {
        throw found
      }
      try transaction.swapMetadata()
      let locked = try transaction.lockTables(policy)
      try transaction.carryErasures()
      try transaction.swapTables()
      try control.query("COMMIT")
      return SwapReport(
        tableGroups: schema.tableGroups,
        formerSchema: ShadowSchema.name(of: .old, beside: schema.live),
        workersHeld: .now - started, readersHeld: .now - locked, attempts: 1)
    } catch {
      if control.status != .closed { _ = try? control.query("ROLLBACK") }
      if let error = error as? PostgresError, error.sqlstate == "55P03" || error.sqlstate == "40P01"
      {
        throw Obstacle(what: "could not take a lock", holders: [error.message])
      }
      throw error
    }
  }
}

/// The sessions that block a swap.
struct Obstacle: Error {
  var what: String
  /// The process, user and application of each session.
  var holders: [String]
}
