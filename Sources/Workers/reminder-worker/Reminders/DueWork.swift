import Events
import Handling
public import Postgres

/// One piece of due work: publishes what an earlier piece decided and committed, decides what is
/// due now, and recomputes due times that were computed with older time zone data. Nothing is
/// published before it is committed, and a piece that is repeated after a crash publishes the same
/// events again.
///
/// What digests say is read in a second step, and of few: the others stay due for the next pieces.
func dueWork(_ turn: Turn, _ surroundings: Surroundings) -> Work {
  let rowsMax = max(1, (pieceMax >> turn.halvings) / max(1, turn.partitions.count))
  let digestsMax = max(1, pieceDigestsMax >> turn.halvings)
  let limit = Parameter.int8(Int64(rowsMax))
  let partitions = Parameter.int4Array(turn.partitions)
  let now = Parameter.timestamptz(surroundings.now)
  var work = Work([planByKey(keepsPlans: true)])
  // Reading and marking the rows in one statement avoids a second lookup of each row.
  let decided = work.add(
    Statement(
      """
      UPDATE reminder_rings r SET is_published = true
      FROM unnest($1::int[]) AS p (partition)
      CROSS JOIN LATERAL (
        SELECT r.ctid FROM reminder_rings r
        WHERE r.partition = p.partition AND NOT r.is_published AND NOT \(isForgottenRing)
        ORDER BY r.due_at
        LIMIT $2
        FOR UPDATE SKIP LOCKED
      ) d
      WHERE r.ctid = d.ctid
      RETURNING \(Ring.columns)
      """, [partitions, limit]))
  // Two scans, each by an index of its own, because what is due after thousands of digests would
  // wait for all of them.
  let digests = work.add(
    lockedReminders(
      "r.reminder_id = '' AND r.due_at <= $3 ORDER BY r.due_at",
      [partitions, .int8(Int64(min(digestsMax, rowsMax))), now]))
  let reminders = work.add(
    lockedReminders(
      "r.reminder_id <> '' AND r.due_at <= $3 ORDER BY r.due_at", [partitions, limit, now]))
  let outdated = work.add(
    lockedReminders(
      "r.due_at > $3 AND r.zone_data < $4",
      [partitions, limit, now, .text(surroundings.zoneData)]))
  work.finish = { results in
    var piece = DuePiece(
      publish: try results[decided].flatMap { try Ring($0).unpublished },
      due: try results[digests].map { try Reminder($0) }
        + results[reminders].map { try Reminder($0) },
      outdated: try results[outdated].map { try Reminder($0) })
    let people = piece.keepDigests(digestsMax)
    guard !people.isEmpty else { return try piece.outcome(turn, surroundings) }
    var second = Work()
    let unseen = second.add(readUnseen(people))
    second.finish = { [piece] results in
      var piece = piece
      var contents: [BytewiseString: Reminder.Unseen] = [:]
      for row in results[unseen] {
        guard let json = try row.textOrNil("unseen") else { continue }
        contents[BytewiseString(try row.text("user_id"))] = try value(json)
      }
      piece.tell(contents)
      return try piece.outcome(turn, surroundings)
    }
    return Outcome(further: second)
  }
  return work
}

/// What a piece has locked.
private struct DuePiece {
  var publish: [Ring]
  var due: [Reminder]
  var outdated: [Reminder]

  /// Leaves out all digests but those that have been due for longest; returns whose these are.
  mutating func keepDigests(_ limit: Int) -> [String] {
    let digests = due.filter(\.isDigest).sorted { ($0.next?.dueAt ?? 0) < ($1.next?.dueAt ?? 0) }
    let kept = Array(digests.prefix(limit))
    // First, because what they say has been read.
    due = kept + due.filter { !$0.isDigest }
    return kept.map(\.user)
  }

  /// Sets what the digests say.
  mutating func tell(_ contents: [BytewiseString: Reminder.Unseen]) {
    for index in due.indices where due[index].isDigest {
      due[index].unseen = contents[BytewiseString(due[index].user)] ?? Reminder.Unseen()
    }
  }

  /// Decides what rings.
  func outcome(_ turn: Turn, _ surroundings: Surroundings) throws -> Outcome {
    guard !publish.isEmpty || !due.isEmpty || !outdated.isEmpty else { return Outcome() }
    var reminders: [Reminder] = []
    var rings: [Ring] = []
    let end = ContinuousClock.now + decidingMax
    // The next piece decides about the rest, after what this one has decided is committed.
    for var reminder in due {
      guard .now < end else { break }
      while let ring = reminder.takeDue(at: surroundings.now, surroundings) { rings.append(ring) }
      reminders.append(reminder)
    }
    for var reminder in outdated {
      guard .now < end else { break }
      // If the zone is unknown, leave the reminder unchanged; `takeDue` handles it when it is due.
      try? reminder.refresh(surroundings)
      reminders.append(reminder)
    }
    var statements = [turn.fence]
    if !reminders.isEmpty {
      statements.append(advanceReminders(reminders, zoneData: surroundings.zoneData))
    }
    if !rings.isEmpty { statements.append(try addRings(rings, now: surroundings.now)) }
    var outcome = Outcome(
      statements: statements, events: publish.map(\.event),
      counts: [
        "reminders_rung": publish.count { $0.state == .rung },
        "reminders_withdrawn": publish.count { $0.state == .withdrawn },
        "reminders_missed": rings.count { $0.state == .missed },
      ], hasMore: true)
    outcome.latenesses = publish.filter { $0.state == .rung && $0.revision == 0 }.map {
      max(0, Double(surroundings.now - $0.occurrence.dueAt) / 1_000_000)
    }
    return outcome
  }
}

extension Reminder {
  fileprivate var isDigest: Bool { id.isEmpty }
}

/// How long a piece computes what rings: a cycle with many moments takes milliseconds, and the transaction is open.
private let decidingMax = Duration.milliseconds(500)

/// The maximum number of reminders that one piece rings, of all partitions together.
private let pieceMax = 2500
/// The maximum number of digests that it decides about besides, likewise.
private let pieceDigestsMax = 100

/// Locks and returns the reminders of each partition that meet a condition. `$1` is the array of
/// partitions, `$2` the maximum number of rows per partition. Skips rows that another lane has
/// locked. Does not read what digests say.
private func lockedReminders(_ condition: String, _ parameters: [Parameter]) -> Statement {
  Statement(
    """
    SELECT \(reminderColumns), NULL::text AS unseen FROM unnest($1::int[]) AS p (partition)
    CROSS JOIN LATERAL (
      SELECT r.* FROM reminders r
      WHERE r.partition = p.partition AND NOT \(isForgottenReminder) AND \(condition)
      LIMIT $2
      FOR UPDATE SKIP LOCKED
    ) r
    """, parameters)
}

/// Reads what the digests of these people would say now. Their rows are locked.
private func readUnseen(_ people: [String]) -> Statement {
  Statement(
    """
    SELECT r.user_id, \(unseenColumn) FROM reminders r
    WHERE r.user_id = ANY ($1) AND r.reminder_id = ''
    """, [.textArray(people)])
}

/// Counts the reminders that were due by `instant` (microseconds since 1970) and are not published
/// yet. Counts per partition, because every index begins with the partition.
public func overdueReminders(at instant: Int64) -> Statement {
  Statement(
    """
    SELECT coalesce(sum(
      (SELECT count(*) FROM reminders r WHERE r.partition = p.partition AND r.due_at <= $1)
        + (
          SELECT count(*) FROM reminder_rings r
          WHERE r.partition = p.partition AND NOT r.is_published AND r.due_at <= $1
        )), 0)
    FROM (SELECT DISTINCT c.partition FROM consumer_offsets c WHERE c.topic LIKE '%reminders') p
    """, [.timestamptz(instant)])
}
