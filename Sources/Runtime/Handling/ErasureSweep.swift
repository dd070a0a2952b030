public import Events
public import Postgres

/// How a worker forgets people: `Erasures` keeps out what comes, a sweep deletes what is there, in bounded
/// pieces of background work.
///
/// A sweep is a list of stages. Each begins when all transactions have ended that may not see what the stage
/// before it has committed, so nothing that it deletes can return, and one pass suffices. The first stage begins
/// when all have ended that may not know of the erasure. What readers see does not depend on its progress.
public struct ErasureSweep: Sendable {
  /// A person who is being forgotten.
  public struct Person: Sendable {
    fileprivate var worker: String
    public var id: String
    /// What the person did, or what was done to them, until then has no effect.
    public var erasedAt: EventTime
    /// Who they are from now on to those who wrote to them.
    public var formerID: String
    /// What the stage wrote to the column `position` of the person's row in `<worker>_erasures`; empty at first.
    public var position: String
    /// The person's id and `erasedAt`, for `$1` and `$2`.
    public var parameters: [Parameter] {
      [.text(id), .timestamptz(erasedAt.microseconds)]
    }

    /// The statement that writes the column `position`.
    public func moved(to position: String) -> Statement {
      Statement(
        "UPDATE \(worker)_erasures SET position = $2 WHERE user_id = $1",
        [.text(id), .text(position)])
    }
  }

  /// One piece of a stage. Its own outcome says whether the stage has more, not that of `further`.
  public typealias Stage = @Sendable (Person) throws -> Work

  /// The handler's name.
  public var worker: String
  /// Each deletes what the stages before it may have left, or what only they need. The first stage of every
  /// sweep forgets dead letters.
  public var stages: [Stage]
  /// The workers that must be done with the person first.
  public var after: [String]

  public init(worker: String, after: [String] = [], stages: [Stage]) {
    (self.worker, self.after) = (worker, after)
    self.stages = [{ forgetDeadLetters(of: $0, worker: worker) }] + stages
  }

  /// One piece of the sweep of one person, whoever waits longest.
  public func backlog() -> Work {
    var work = Work()
    let found = work.add(
      Statement(
        """
        SELECT user_id, erased_at, encode(person_hash(user_id), 'hex'), position, stage,
          horizon IS NOT NULL AS has_horizon
        \(next)
        """, nextParameters))
    work.finish = { results in
      guard let row = results[found].first else { return Outcome() }
      let person = Person(
        worker: worker, id: try row.text(0),
        erasedAt: EventTime(microseconds: try row.timestamptz(1)),
        formerID: FormerPerson.id(hash: try row.text(2)), position: try row.text(3))
      let stage = try row.int(4)
      guard try row.bool(5) else { return Outcome(statements: [horizon(person)], hasMore: true) }
      guard stages.indices.contains(stage) else {
        return Outcome(statements: done(person), counts: ["people_erased": 1], hasMore: true)
      }
      var piece = try stages[stage](person)
      let finish = piece.finish
      piece.finish = { results in
        var outcome = try finish(results)
        outcome.add(further: Work([outcome.hasMore ? touch(person) : advance(person)]))
        outcome.hasMore = !outcome.isWaiting
        return outcome
      }
      return Outcome(further: piece)
    }
    return work
  }

  /// One piece of a sweep, or of `other`, whose locks do not go together in one transaction. While there is work for
  /// both, chance decides, so that neither waits for the other's end.
  ///
  /// - Parameter isBesideWaiting: whether a piece that only waits takes no such locks, so that `other` is run with it.
  public func backlog(or other: Work, isBesideWaiting: Bool = false) -> Work {
    var work = backlog()
    let sweep = work.finish
    work.finish = { results in
      var swept = try sweep(results)
      // Whether a piece has more is known when it has run.
      let hasWork = swept.hasMore || swept.further != nil
      guard hasWork, Bool.random() else { return Outcome(hasMore: hasWork, further: other) }
      guard isBesideWaiting, var piece = swept.further else { return swept }
      let finish = piece.finish
      piece.finish = { results in
        var outcome = try finish(results)
        if outcome.isWaiting { outcome.add(further: other) }
        return outcome
      }
      swept.further = piece
      return swept
    }
    return work
  }

  /// Puts the person whose piece is next behind the others for ten minutes, in a transaction of its own, after that
  /// piece could not be done.
  public func postponement() -> Work {
    Work([
      Statement(
        """
        UPDATE \(worker)_erasures SET worked_at = clock_timestamp() + interval '10 minutes'
        WHERE user_id = ANY (ARRAY(SELECT user_id \(next)))
        """, nextParameters)
    ])
  }

  // MARK: The queue

  /// SQL that selects from `q` who waits longest, with `nextParameters`. If other workers must be done first, it looks at
  /// the first 1,000, and at all only if these have to wait.
  private var next: String {
    let mayBegin = "(horizon IS NULL OR horizon <= pg_snapshot_xmin(pg_current_snapshot()))"
    let othersAreDone = """
      AND q.user_id = ANY (coalesce(
        nullif(ARRAY(
          SELECT f.user_id
          FROM (
            SELECT user_id FROM \(worker)_erasures WHERE \(mayBegin)
            ORDER BY worked_at, user_id LIMIT 1000) f
          -- Not EXISTS, because that would be planned as a join with all of erasures.
          WHERE (
            SELECT e.waits_for && $1 FROM erasures e WHERE e.user_id = f.user_id LIMIT 1) IS NOT TRUE),
          '{}'),
        ARRAY(
          SELECT f.user_id FROM \(worker)_erasures f
          WHERE \(mayBegin) AND NOT EXISTS (
            SELECT FROM erasures e WHERE e.user_id = f.user_id AND e.waits_for && $1)
          ORDER BY worked_at, f.user_id LIMIT 1000)))
      """
    return """
      FROM \(worker)_erasures q
      WHERE \(mayBegin) \(after.isEmpty ? "" : othersAreDone)
      ORDER BY worked_at, user_id LIMIT 1
      FOR UPDATE SKIP LOCKED
      """
  }

  private var nextParameters: [Parameter] { after.isEmpty ? [] : [.textArray(after)] }

  private func update(_ person: Person, _ assignments: String) -> Statement {
    Statement(
      "UPDATE \(worker)_erasures SET \(assignments), worked_at = clock_timestamp() WHERE user_id = $1",
      [.text(person.id)])
  }

  /// This transaction's id: `backlog` drew it by locking the row, after it saw what the stage waits for. All that do not
  /// see it have lower ids. (`pg_snapshot_xmax` does not tell: transactions with later ids may be open.)
  private func horizon(_ person: Person) -> Statement {
    update(person, "horizon = pg_current_xact_id()")
  }

  private func touch(_ person: Person) -> Statement { update(person, "stage = stage") }

  private func advance(_ person: Person) -> Statement {
    update(person, "stage = stage + 1, position = '', horizon = NULL")
  }

  private func done(_ person: Person) -> [Statement] {
    [
      Statement("DELETE FROM \(worker)_erasures WHERE user_id = $1", [.text(person.id)]),
      Statement("SELECT erasure_done('\(worker)', $1, $2)", person.parameters),
    ]
  }
}

/// SQL: the assignments that let a sweep begin again.
package let fromTheBeginning = beginning(at: 0)

/// SQL: the assignments that let a sweep go back to a stage.
private func beginning(at stage: Int) -> String {
  "stage = \(stage), position = '', horizon = NULL"
}

/// SQL that queues those of these people for another sweep who were erased. A sweep that is under way goes back to
/// `stage` if it has begun that, and waits for this transaction in any case: it goes on when its row is not locked.
///
/// - Parameters:
///   - people: SQL that selects their ids.
///   - worker: the handler's name.
///   - stage: the first stage that finds what is new of them; forgetting dead letters is stage 0.
public func sweepAgain(_ people: String, worker: String, from stage: Int) -> String {
  """
  INSERT INTO \(worker)_erasures AS q (user_id, erased_at)
  SELECT p.id, e.erased_at
  FROM (SELECT DISTINCT i.id COLLATE "C" AS id FROM (\(people)) AS i (id)) p
  JOIN erasures e ON e.person_hash = person_hash(p.id)
  WHERE EXISTS (SELECT FROM erasures)
  ORDER BY p.id
  ON CONFLICT (user_id) DO UPDATE SET \(beginning(at: stage))
    WHERE q.stage >= \(stage)
  """
}
