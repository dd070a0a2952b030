import Foundation
import Postgres

/// How an exchange of tables treats those who are in its way.
public struct SwapPolicy: Sendable {
  /// How often it is tried before it is given up.
  public var attemptsMax = 5
  /// How long it goes on catching up with workers that are about as fast, before any are held up.
  public var catchUpWait: Duration = .seconds(60)
  /// How long applying the last records may hold the workers up, about.
  public var workersWait: Duration = .seconds(20)
  /// How long workers are held up in one attempt while it waits for readers, on top of that.
  public var readersWait: Duration = .seconds(5)
  /// How long new readers may have to wait behind one attempt to lock the tables.
  public var lockMilliseconds = 250
  /// Whether tables are exchanged as they are, without first applying to them what the ones in use
  /// have: readers go back in time then, until the workers have caught up.
  public var skipsCatchUp = false

  public init() {}
}

/// What an exchange did.
public struct SwapReport: Sendable {
  public var rooms: [Room]
  /// The schema that holds the former tables.
  public var formerSchema: String
  /// How long the workers were held up.
  public var workersHeld: Duration
  /// How long readers may have waited at most.
  public var readersHeld: Duration
  /// How often it was tried.
  public var attempts: Int
}

extension Rebuild {
  /// Puts the rebuilt tables in the place of those in use, in one transaction; those are kept.
  ///
  /// Workers are held up at their next batch while the last records are applied to the rebuilt
  /// tables, and go on, fenced, where these are. Readers see the one or the other, never a mixture,
  /// and never something that lacks what they have seen: see docs/decisions.
  ///
  /// - Throws: `RebuildError` when a reader is in the way for too long; everything is as before then.
  public func swap(_ policy: SwapPolicy = SwapPolicy()) throws -> SwapReport {
    if try ShadowSchema.find(.old, beside: liveSchema, control) != nil {
      throw RebuildError(
        "the former tables of an earlier exchange are still there", ShadowSchema.nextStep)
    }
    return try exchange(try shadow(), policy)
  }

  /// Puts the former tables back in their place; the rebuilt ones are kept.
  public func swapBack(_ policy: SwapPolicy = SwapPolicy()) throws -> SwapReport {
    try exchange(former(), policy)
  }

  func former() throws -> ShadowSchema {
    guard let schema = try ShadowSchema.find(.old, beside: liveSchema, control) else {
      throw RebuildError(
        "there are no former tables",
        "They are there after `magpie replay --swap`, until --drop-old."
      )
    }
    guard schema.topicPrefix == settings.topicPrefix else { throw otherPrefix(schema) }
    return schema
  }

  private func exchange(_ schema: ShadowSchema, _ policy: SwapPolicy) throws -> SwapReport {
    let exchange = Exchange(schema: schema, connection: control)
    try exchange.check()
    var obstacle = Obstacle(what: "", holders: [])
    for attempt in 1...max(1, policy.attemptsMax) {
      if !policy.skipsCatchUp {
        let left = try catchUp(schema, patience: policy.catchUpWait)
        guard left < policy.workersWait else {
          throw RebuildError(
            "applying the last records would hold the workers up for about "
              + "\(Int(left / .seconds(1))) s",
            "Start it again when less is going on.")
        }
      }
      counter.begin("exchanging")
      settings.onProgress(counter.progress)
      // First without holding anybody up: whoever reads for long is found here.
      if let found = try exchange.olderReaders(within: policy.readersWait, than: nil) {
        obstacle = found
        continue
      }
      do {
        var report = try attemptExchange(exchange, policy)
        report.attempts = attempt
        return report
      } catch let found as Obstacle {
        obstacle = found
        Thread.sleep(forTimeInterval: Double.random(in: 0.05...0.5) * Double(attempt))
      }
    }
    throw RebuildError(
      "\(obstacle.what): \(obstacle.holders.joined(separator: "; "))",
      "Nothing was changed. Wait until they have ended or end them "
        + "(SELECT pg_terminate_backend(pid)), and try again.")
  }

  private func attemptExchange(_ exchange: Exchange, _ policy: SwapPolicy) throws -> SwapReport {
    let schema = exchange.schema
    let started = ContinuousClock.now
    do {
      // A lock on the table, not on rows: it needs no transaction id, so that all snapshots that are
      // taken from now on can be told from the older ones by theirs.
      try control.script(
        """
        BEGIN;
        SET LOCAL lock_timeout = '10s';
        SET LOCAL idle_in_transaction_session_timeout = '60s';
        LOCK TABLE \(quoted(schema.live)).consumer_offsets IN EXCLUSIVE MODE;
        """)
      if !policy.skipsCatchUp {
        try advance(schema, to: try targets(schema), runsBacklog: false)
      }
      let applied = try exchange.snapshotBoundary()
      if let found = try exchange.olderReaders(within: policy.readersWait, than: applied) {
        throw found
      }
      try exchange.exchangeDescriptions()
      let locked = try exchange.lockTables(policy)
      try exchange.exchangeTables()
      try control.query("COMMIT")
      return SwapReport(
        rooms: schema.rooms, formerSchema: ShadowSchema.name(of: .old, beside: schema.live),
        workersHeld: .now - started, readersHeld: .now - locked, attempts: 1)
    } catch {
      if control.status != .closed { _ = try? control.query("ROLLBACK") }
      if let error = error as? PostgresError, error.sqlstate == "55P03" || error.sqlstate == "40P01"
      {
        throw Obstacle(what: "a lock could not be taken", holders: [error.message])
      }
      throw error
    }
  }
}

/// Who is in the way of an exchange.
struct Obstacle: Error {
  var what: String
  /// Process, user and application of each.
  var holders: [String]
}
