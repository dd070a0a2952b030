import Foundation
public import Postgres

/// Separates wrong alarms from alarms that were in flight when the snapshot was taken.
///
/// Alarms lag behind notifications: a change is published before the transaction that makes it
/// commits, and another worker applies it. So an alarm may be
/// - behind: the alarm-worker had not applied the change's record in the snapshot;
/// - waiting to be rendered again, after a change of nickname or locale;
/// - ahead: already applied while the notification's own transaction was still open. That settles
///   within moments; an alarm that stays ahead is wrong.
public final class AlarmsInFlight {
  private struct State: Equatable {
    var notification: [Int64]?
    var alarm: [Int64]?
    var isPending = false
  }

  /// The rendered columns, which depend on profiles.
  private static let rendered: Set<String> = [
    "locale", "text", "segments", "spans", "legacy_message", "legacy_head_text",
    "legacy_from_nick_name",
  ]

  private let snapshot: Connection
  private let unapplied: Set<String>
  private let later: () throws -> Connection
  private let patience: Duration
  private var waiting: [Difference] = []
  private var ahead: [(difference: Difference, seen: State)] = []

  /// - Parameters:
  ///   - snapshot: the transaction whose alarms are compared.
  ///   - unapplied: the notifications in records of notification-changes at or after the
  ///     alarm-worker's offsets in the snapshot.
  ///   - later: opens a connection that sees the latest committed state.
  ///   - patience: how long an alarm may be ahead of its notification.
  public init(
    snapshot: Connection, unapplied: Set<String>, patience: Duration = .seconds(10),
    later: @escaping () throws -> Connection
  ) {
    (self.snapshot, self.unapplied, self.patience) = (snapshot, unapplied, patience)
    self.later = later
  }

  /// Classifies a difference of the alarms table. The report receives it now, in `finish`, or as in
  /// flight.
  func judge(_ difference: Difference, into report: inout ComparisonReport) throws {
    guard !unapplied.contains(difference.key.first ?? "") else {
      report.addInFlight(difference.table)
      return
    }
    waiting.append(difference)
    if waiting.count == 500 { try look(into: &report) }
  }

  /// Classifies the remaining differences.
  func finish(into report: inout ComparisonReport) throws {
    try look(into: &report)
    guard !ahead.isEmpty else { return }
    let deadline = ContinuousClock.now + patience
    let connection = try later()
    while !ahead.isEmpty, ContinuousClock.now < deadline {
      Thread.sleep(forTimeInterval: 0.1)
      let now = try states(of: ahead.map(\.difference), on: connection)
      ahead = zip(ahead, now).compactMap { known, now in
        guard now == known.seen else {
          report.addInFlight(known.difference.table)
          return nil
        }
        return known
      }
    }
    for known in ahead { report.add(known.difference) }
    ahead = []
  }

  private func look(into report: inout ComparisonReport) throws {
    let states = try states(of: waiting, on: snapshot)
    for (difference, state) in zip(waiting, states) {
      let isOnlyRendering =
        difference.kind == .different
        && difference.columns.allSatisfy { Self.rendered.contains($0.name) }
      if state.isPending, isOnlyRendering {
        report.addInFlight(difference.table)
      } else if let alarm = state.alarm,
        state.notification.map({ $0.lexicographicallyPrecedes(alarm) }) ?? true,
        ahead.count < 100_000
      {
        ahead.append((difference, state))
      } else {
        report.add(difference)
      }
    }
    waiting = []
  }

  private func states(of differences: [Difference], on connection: Connection) throws -> [State] {
    guard !differences.isEmpty else { return [] }
    let rows = try connection.query(
      """
      SELECT n.generation, n.counter, a.generation, a.counter,
        EXISTS (
          SELECT FROM pending_renders p
          WHERE p.user_id IN (a.recipient, a.actor, a.second_actor))
      FROM unnest($1::uuid[]) WITH ORDINALITY AS i (id, position)
      LEFT JOIN notifications n ON n.notification_id = i.id
      LEFT JOIN alarms a ON a.notification_id = i.id
      ORDER BY i.position
      """, [.uuidArray(differences.map { UUID(uuidString: $0.key.first ?? "") })])
    return try rows.map { row in
      var state = State()
      if let generation = try row.int8OrNil(0) {
        state.notification = [generation, try row.int8(1)]
      }
      if let generation = try row.int8OrNil(2) { state.alarm = [generation, try row.int8(3)] }
      state.isPending = try row.bool(4)
      return state
    }
  }
}
