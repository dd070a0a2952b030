import Events
import Handling
import Postgres

/// One piece of what is due: records what became of earlier claims, and claims what there is room for. The
/// claims go to the sender once they are committed.
///
/// Reads before it takes the fence. Nothing can have come between: another owner would have changed the epoch
/// that the fence compares.
func turnWork(_ turn: Turn, _ surroundings: Surroundings) -> Work {
  let outbox = surroundings.outbox
  let answers = outbox.answers(limit: answersMax)
  // These answers leave with the commit.
  let limit = min(outbox.room + answers.count, claimsMax)
  let partitions = Parameter.int4Array(turn.partitions)
  var work = Work([planByKey(keepsPlans: true)])
  if !answers.isEmpty {
    let ends = answers.compactMap { answered in
      ClaimEnd(
        answered, openUntil: outbox.openUntil(answered.claim.outboxScope),
        spread: .random(in: 0..<1))
    }
    work.add(recordEnds(ends, now: surroundings.now))
    work.add(recordGone(answers))
  }
  guard limit > 0 else {
    work.finish = { _ in
      var outcome = Outcome(counts: counts(of: answers))
      outcome.afterCommit = { outbox.remove(answers) }
      return outcome
    }
    return work
  }
  let repeats = work.add(readRepeats(partitions, limit: limit, now: surroundings.now))
  work.add(findHidden(partitions, limit: peopleMax, now: surroundings.now))
  work.add(deleteOldClaims(partitions, now: surroundings.now))
  let people = work.add(readPeople(partitions, limit: peopleMax, now: surroundings.now))
  let alarms = work.add(readDueAlarms(partitions, limit: limit, now: surroundings.now))
  work.finish = { results in
    var piece = Piece(room: limit, surroundings)
    for row in results[repeats] { try piece.repeatClaim(row) }
    let due = try dueAlarms(results[alarms], surroundings)
    piece.look(at: due)
    for row in results[people] { try piece.look(atPerson: row) }
    piece.closePeople()
    let statements = piece.statements
    var outcome = Outcome(
      statements: statements.isEmpty ? [] : [turn.fence] + statements,
      counts: counts(of: answers).merging(piece.counts) { $0 + $1 })
    let claims = piece.toSend
    // A turn has a price of its own: near the end of the room it waits for more.
    let isRoomLeft = outbox.room + answers.count - claims.count >= claimsMax / 2
    outcome.hasMore =
      due.count == limit && (piece.room > 0 || isRoomLeft)
      || piece.room > 0 && !piece.badges.isEmpty
    outcome.afterCommit = {
      outbox.remove(answers)
      outbox.put(claims)
    }
    return outcome
  }
  return work
}

/// The most claims of a piece, and the most answers that it records.
private let claimsMax = 500
private let answersMax = 2000
/// The most people whose badge and visible alarms a piece looks at.
private let peopleMax = 100

private func counts(of answers: [Answered]) -> [String: Int] {
  [
    "push_tokens_gone": answers.count {
      if case .answer(.tokenGone) = $0.outcome { true } else { false }
    }
  ]
}
