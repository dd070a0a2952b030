import Events
import Handling
import Postgres

/// One transaction of what is due: records the answers to earlier claims, and claims messages as
/// far as there are places for them. The claims go to the sender after the commit.
///
/// Reads before it takes the fence. If another lane had claimed the partitions since the read, it
/// would have changed the epoch that the fence compares.
func turnWork(_ turn: Turn, _ surroundings: Surroundings) -> Work {
  let (outbox, now) = (surroundings.outbox, surroundings.now)
  let answers = outbox.answers(of: turn.partitions, limit: answersMax, now: now)
  let partitions = Parameter.int4Array(turn.partitions)
  let rows = max(1, rowsMax >> turn.halvings)
  var work = Work([planByKey(keepsPlans: true)])
  let ended = answers.compactMap { answered in
    ClaimEnd(
      answered, openUntil: outbox.openUntil(answered.claim.outboxScope),
      spread: .random(in: 0..<1)
    ).map { (claim: answered.claim, end: $0) }
  }
  if !answers.isEmpty {
    work.add(recordEnds(ended.map { $0.end }, now: now))
    for statement in recordGone(answers) { work.add(statement) }
  }
  guard outbox.hasRoom || !answers.isEmpty else {
    work.finish = { _ in Outcome() }
    return work
  }
  // A sweep that forgets somebody whom an alarm names waits for this transaction only if it has an id before it reads.
  work.add(
    Statement(
      """
      SELECT pg_current_xact_id()
      WHERE EXISTS (
        SELECT FROM push_due q
        WHERE q.partition = ANY ($1) AND q.due_at <= $2 AND q.notification_id >= \(personIDEnd))
      """, [partitions, .timestamptz(now.microseconds)]))
  let repeats = work.add(
    readRepeats(
      partitions, limit: rows, answerSeconds: surroundings.bounds.answerSeconds, now: now))
  work.add(deleteOldClaims(partitions, now: now))
  let people = work.add(
    readPeople(partitions, limit: max(1, peopleMax >> turn.halvings), now: now))
  let alarms = work.add(readDueAlarms(partitions, limit: rows, now: now))
  work.finish = { results in
    // Recording these answers frees their places.
    var piece = Piece(Places(in: outbox, freed: answers.count), surroundings, rows: rows)
    // What has expired does not tell its badge any more: it is told alone.
    for (claim, end) in ended where claim.message.purpose != .badge && end.state == .expired {
      piece.makePersonDue(end.user, claim.partition)
    }
    for row in results[repeats] { try piece.repeatClaim(row) }
    let due = try dueAlarms(results[alarms], surroundings)
    piece.look(at: due)
    for row in results[people] { try piece.look(atPerson: row) }
    piece.closePeople()
    let statements = piece.statements
    var outcome = Outcome(
      statements: statements.isEmpty ? [] : [turn.fence] + statements,
      counts: counts(of: answers).merging(piece.counts) { $0 + $1 })
    // Each turn has a fixed cost. If few rows moved for lack of places, wait for more answers.
    outcome.hasMore =
      piece.moved - piece.crowded >= max(1, rows / 5) && due.count >= rows
      || piece.makesDue
    let (places, claims) = (piece.places, piece.toSend)
    outcome.afterCommit = {
      outbox.remove(answers)
      places.put(claims)
    }
    return outcome
  }
  return work
}

/// The most due alarms and the most repetitions that a piece reads, and the most answers that it
/// records.
private let rowsMax = 500
private let answersMax = 2000
/// The most people whose badge and visible alarms a piece evaluates.
private let peopleMax = 100

private func counts(of answers: [Answered]) -> [String: Int] {
  [
    "push_tokens_gone": answers.count {
      if case .answer(.tokenGone) = $0.outcome { true } else { false }
    }
  ]
}
