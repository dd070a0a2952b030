import Events
import Handling
import Postgres

/// The maximum number of rows that a piece deletes, and of contributions from which it starts.
private let erasedMax = 1_000

/// Forgets a person: what they did, what was done to them, and what followed from it.
///
/// Whatever they contributed to others' notifications is deleted like a withdrawal, with new snapshots.
let notificationErasures = ErasureSweep(
  worker: "notification",
  stages: [
    awaitQueues,
    eraseSubscriptions,
    { try eraseContributions(.received, $0) },
    { try eraseContributions(.made, $0) },
    { try eraseContributions(.posts, $0) },
    { try eraseContributions(.other, $0) },
    eraseRelations,
    eraseOwnRows,
    reviewOwnContributions,
    eraseRecipient,
  ])

/// The stage `eraseRecipient`: what other sweeps delete may be all that has named the person since, and nothing but their
/// row as a recipient is left to delete then.
let recipientStage = notificationErasures.stages.count - 1

/// Waits for queued work about the person: the alarms of their posts, and the check of what an older version
/// wrote.
///
/// Pieces of this work that published and failed have left snapshots in the log that name the person. Only the
/// queue's rows say whose, so these must be finished: they retract what the person was erased from.
private func awaitQueues(_ person: ErasureSweep.Person) -> Work {
  var work = Work()
  let waits = work.add(
    Statement(
      """
      SELECT EXISTS (SELECT FROM contribution_check)
        OR EXISTS (SELECT FROM subscription_work w WHERE w.author = $1 AND w.caused_at <= $2)
      """, person.parameters))
  work.finish = { results in Outcome(hasMore: try results[waits].only.bool(0)) }
  return work
}

/// Deletes from the timelines of subscriptions, both ways. The stages after it check the alarms of later posts.
private func eraseSubscriptions(_ person: ErasureSweep.Person) -> Work {
  counting(
    [
      Statement(
        """
        WITH piece AS MATERIALIZED (
          SELECT s.place, s.subscriber
          FROM unnest(\(lockedPeople)) AS o (id)
          CROSS JOIN LATERAL (
            SELECT s.ctid AS place, s.subscriber FROM author_subscriptions s
            WHERE s.author = $1 AND s.subscriber = o.id COLLATE "C" AND s.at <= $2 LIMIT $3) s
          LIMIT $3
        ),
        \(sweptAgain("SELECT p.subscriber FROM piece p WHERE p.subscriber <> $1")),
        gone AS (DELETE FROM author_subscriptions s WHERE s.ctid = ANY (ARRAY(SELECT p.place FROM piece p)))
        SELECT count(*) FROM piece
        """, person.parameters + [.int8(Int64(erasedMax))]),
      Statement(
        """
        WITH piece AS MATERIALIZED (
          SELECT s.ctid AS place, s.author FROM author_subscriptions s
          WHERE s.subscriber = $1 AND s.at <= $2 LIMIT $3
        ),
        gone AS (DELETE FROM author_subscriptions s WHERE s.ctid = ANY (ARRAY(SELECT p.place FROM piece p))),
        queued AS (
          DELETE FROM subscription_work w
          WHERE w.author = ANY (ARRAY(SELECT p.author FROM piece p)) AND w.post_id = '' AND w.subscriber = $1
            AND w.caused_at <= $2
        )
        SELECT count(*) FROM piece
        """, person.parameters + [.int8(Int64(erasedMax))]),
    ],
    beside: """
      SELECT s.subscriber FROM author_subscriptions s WHERE s.author = $1 AND s.at <= $2 LIMIT $3
      """, inSweepOf: person)
}

/// Statements that each return the number of rows of their piece. There is more if one of them found a full piece, or if
/// another sweep holds the queue's row of one of `others`: then `lockedPeople` has nobody in this piece.
///
/// - Parameter others: SQL that selects the next of the people whose rows are deleted, with the person's parameters and the
///   maximum in `$3`.
private func counting(
  after statements: [Statement] = [], _ pieces: [Statement], beside others: String,
  inSweepOf person: ErasureSweep.Person
) -> Work {
  var work = Work([planByKey(keepsPlans: true)] + statements)
  let found = work.add(
    Statement(
      """
      SELECT set_config('magpie.erased_people', coalesce(array_agg(DISTINCT o.id)::text, '{}'), true), count(*)
      FROM (\(others)) AS o (id)
      """, person.parameters + [.int8(Int64(erasedMax))]))
  let beside = work.lockSweeps(of: erasedPeople, inSweepOf: person)
  let keys = pieces.map { work.add($0) }
  work.finish = { results in
    let isHeld = try results[beside].only.bool(0)
    let isFull = try results[found].only.int(1) >= erasedMax
    return Outcome(
      hasMore: try isHeld || isFull || keys.contains { try results[$0].only.int(0) >= erasedMax })
  }
  return work
}

// MARK: Whom the person muted or blocked, and who muted or blocked them

private let erasedPeople = "current_setting('magpie.erased_people')::text[]"
/// Of these, those whose sweeps wait for this piece: all or, if another sweep is at work on one, nobody.
private let lockedPeople = """
  CASE WHEN current_setting('magpie.sweeps_are_free')::boolean THEN \(erasedPeople) ELSE '{}' END
  """

/// Deletes blocks, and others' silences of the person. What the person contributes since comes out of hiding by a
/// review.
private func eraseRelations(_ person: ErasureSweep.Person) -> Work {
  let ofPerson = "(s.scope = 'actor' OR s.scope = 'subject' AND s.type = 3)"
  var work = Work([planByKey(keepsPlans: true)])
  let found = work.add(
    Statement(
      """
      SELECT set_config('magpie.erased_people', coalesce(array_agg(p.id)::text, '{}'), true), count(*)
      FROM (
        (
          SELECT s.recipient FROM notification_silences s
          WHERE s.value = $1 AND \(ofPerson) AND s.at <= $2 LIMIT $3
        )
        UNION
        (SELECT b.blocked FROM person_blocks b WHERE b.blocker = $1 AND b.version_time <= $2 LIMIT $3)
        UNION
        (SELECT b.blocker FROM person_blocks b WHERE b.blocked = $1 AND b.active AND b.version_time <= $2 LIMIT $3)
        UNION
        (
          SELECT b.blocker FROM person_blocks b
          WHERE b.blocked = $1 AND NOT b.active AND b.version_time <= $2 LIMIT $3
        )
      ) AS p (id)
      """, person.parameters + [.int8(Int64(erasedMax))]))
  let beside = work.lock(erasedPeople, inSweepOf: person)
  let deletions = [
    Statement(
      """
      DELETE FROM notification_silences s
      WHERE s.recipient = ANY (\(erasedPeople)) AND s.value = $1 AND \(ofPerson) AND s.at <= $2
      """, person.parameters),
    Statement(
      """
      DELETE FROM person_blocks b
      WHERE b.blocker = $1 AND b.blocked = ANY (\(erasedPeople)) AND b.version_time <= $2
      """, person.parameters),
    Statement(
      """
      DELETE FROM person_blocks b
      WHERE b.blocker = ANY (\(erasedPeople)) AND b.blocked = $1 AND b.version_time <= $2
      """, person.parameters),
    Statement(
      """
      INSERT INTO notification_scoped_reviews AS v (recipient, scope, type, value, after_time, caused_at)
      SELECT p.id, 'actor', -1, $1, '-infinity', $2
      FROM unnest(\(erasedPeople)) AS p (id)
      WHERE EXISTS (
        SELECT FROM notification_actors a WHERE a.actor = $1 AND a.recipient = p.id AND a.muted)
      ORDER BY p.id COLLATE "C"
      \(widenScopedReview)
      """, [.text(person.id), .timestamptz(person.changesAt.microseconds)]),
    Statement(
      sweepAgain(
        "SELECT p FROM unnest(\(erasedPeople)) AS p WHERE p <> $1", worker: "notification",
        from: recipientStage),
      [.text(person.id)]),
  ]
  work.finish = { results in
    guard try results[found].only.int(1) > 0 else { return Outcome() }
    let isFree = try !results[beside].only.bool(0)
    return Outcome(statements: isFree ? deletions : [], hasMore: true)
  }
  return work
}

/// Deletes what nobody's notifications depend on but the person's own: marks, mutes and silences; and read
/// conversations, both ways.
private func eraseOwnRows(_ person: ErasureSweep.Person) -> Work {
  func deletion(_ table: String, _ condition: String, of column: String = "recipient") -> Statement
  {
    Statement(
      """
      WITH gone AS (
        DELETE FROM \(table) t
        WHERE t.ctid = ANY (ARRAY(SELECT t.ctid FROM \(table) t WHERE \(condition) LIMIT $3))
          -- The row may have changed since: not every release checks a row again that it found by its ctid.
          AND \(condition)
        RETURNING \(column) AS person
      ),
      \(sweptAgain("SELECT g.person FROM gone g WHERE g.person <> $1"))
      SELECT count(*) FROM gone
      """, person.parameters + [.int8(Int64(erasedMax))])
  }
  func overruled(_ column: String) -> Statement {
    Statement(
      "UPDATE message_facts SET overruled_receiver = NULL, overruled_sender = NULL WHERE \(column) = $1",
      [.text(person.id)])
  }
  return counting(
    after: [
      overruled("overruled_receiver"), overruled("overruled_sender"),
      lockOwnRow(person),
    ],
    [
      deletion("notification_marks", "t.recipient = $1 AND t.read_at <= $2 AND t.deleted_at <= $2"),
      Statement(
        """
        WITH kept AS (
          UPDATE notification_marks m SET
            read_at = CASE WHEN m.read_at > $2 THEN m.read_at ELSE '-infinity' END,
            deleted_at = CASE WHEN m.deleted_at > $2 THEN m.deleted_at ELSE '-infinity' END
          WHERE m.ctid = ANY (ARRAY(
            SELECT t.ctid FROM notification_marks t
            WHERE t.recipient = $1 AND least(t.read_at, t.deleted_at) <= $2
              AND greatest(t.read_at, t.deleted_at) > $2
              AND isfinite(least(t.read_at, t.deleted_at))
            LIMIT $3))
          RETURNING 1
        )
        SELECT count(*) FROM kept
        """, person.parameters + [.int8(Int64(erasedMax))]),
      deletion("notification_mutes", "t.recipient = $1 AND t.at <= $2"),
      deletion("notification_silences", "t.recipient = $1 AND t.at <= $2"),
      deletion("conversation_reads", "t.user_id = $1 AND t.read_at <= $2", of: "user_id"),
      deletion(
        "conversation_reads",
        "t.peer_id = $1 AND t.user_id = ANY (\(lockedPeople)) AND t.read_at <= $2", of: "user_id"),
    ],
    beside: """
      SELECT t.user_id FROM conversation_reads t WHERE t.peer_id = $1 AND t.read_at <= $2 LIMIT $3
      """, inSweepOf: person)
}

private func lockOwnRow(_ person: ErasureSweep.Person) -> Statement {
  Statement(
    "SELECT FROM notification_recipients r WHERE r.user_id = $1 FOR UPDATE", [.text(person.id)])
}

/// Puts what the person receives since under review, if mutes or blocks that are deleted now hid any of it.
private func reviewOwnContributions(_ person: ErasureSweep.Person) -> Work {
  Work([
    planByKey(keepsPlans: true),
    lockOwnRow(person),
    Statement(
      """
      INSERT INTO notification_reviews AS v
        (recipient, type, after_time, upto_time, from_day, to_day, caused_at)
      SELECT $1, t.type, '-infinity', 'infinity', '-infinity', 'infinity', $3
      FROM (
        SELECT DISTINCT a.type FROM notification_actors a
        WHERE a.recipient = $1 AND a.muted AND a.first_at > $2
      ) t
      ORDER BY t.type
      \(widenReview)
      """, person.parameters + [.timestamptz(person.changesAt.microseconds)]),
  ])
}

/// Waits for the reviews that name the person. Then deletes their row, unless they came back, and their
/// watermarks.
private func eraseRecipient(_ person: ErasureSweep.Person) -> Work {
  var work = Work([
    planByKey(keepsPlans: true),
    // The statement that deletes the row must see what its last holder has written.
    lockOwnRow(person),
  ])
  let waits = work.add(
    Statement(
      """
      SELECT EXISTS (SELECT FROM notification_reviews v WHERE v.recipient = $1)
        OR EXISTS (SELECT FROM notification_scoped_reviews v WHERE v.recipient = $1)
        OR EXISTS (SELECT FROM notification_scoped_reviews v WHERE v.value = $1)
        OR EXISTS (SELECT FROM contribution_check c WHERE $1 IN (c.recipient, c.subject, c.source))
      """, [.text(person.id)]))
  work.finish = { results in
    guard try !results[waits].only.bool(0) else { return Outcome(hasMore: true) }
    func kept(_ column: String) -> String {
      "\(column) = CASE WHEN r.\(column) > $2 THEN r.\(column) ELSE '-infinity' END"
    }
    return Outcome(statements: [
      Statement(
        """
        UPDATE notification_recipients r
        SET \(kept("read_all_at")), \(kept("deleted_all_at")), \(kept("seen_all_at")), \(kept("swept_at"))
        WHERE r.user_id = $1
        """, person.parameters),
      Statement(
        """
        DELETE FROM notification_recipients r
        WHERE r.user_id = $1 AND greatest(r.read_all_at, r.deleted_all_at, r.seen_all_at) = '-infinity'
          -- What is neither here nor hidden by anything below is withdrawn.
          AND NOT EXISTS (SELECT FROM notifications n WHERE n.recipient = $1 AND n.raised_at > $2)
          AND NOT EXISTS (SELECT FROM notification_marks m WHERE m.recipient = $1)
          AND NOT EXISTS (SELECT FROM notification_mutes m WHERE m.recipient = $1)
          AND NOT EXISTS (SELECT FROM notification_silences s WHERE s.recipient = $1)
          AND NOT EXISTS (SELECT FROM person_blocks b WHERE b.blocker = $1)
          AND NOT EXISTS (SELECT FROM person_blocks b WHERE b.blocked = $1 AND b.active)
          AND NOT EXISTS (SELECT FROM person_blocks b WHERE b.blocked = $1 AND NOT b.active)
          AND NOT EXISTS (SELECT FROM author_subscriptions s WHERE s.subscriber = $1)
        """, person.parameters),
    ])
  }
  return work
}

/// SQL: the part of a WITH clause that queues those of these people for another sweep who were erased: what is deleted
/// now may be all that has named them since.
///
/// - Parameter people: SQL that selects their ids.
func sweptAgain(_ people: String) -> String {
  "swept_again AS (\(sweepAgain(people, worker: "notification", from: recipientStage)))"
}

extension Work {
  /// Locks these people, but before them their sweeps. If another sweep holds one, this locks no people.
  ///
  /// - Parameter people: SQL of type `text[]`.
  /// - Returns: the key of the result that says whether another sweep holds one.
  mutating func lock(_ people: String, inSweepOf person: ErasureSweep.Person) -> Work.Key {
    let isHeld = lockSweeps(of: people, inSweepOf: person)
    add(
      lockRecipients(
        [],
        existing: """
          SELECT unnest(\(people)) WHERE current_setting('magpie.sweeps_are_free')::boolean
          """))
    return isHeld
  }

  /// Locks the queue's rows of those of these people whose sweeps may have to go back. If another sweep holds one, it may
  /// wait for what this one has locked: then this piece comes later, and the setting `magpie.sweeps_are_free` is false.
  ///
  /// - Parameter people: SQL of type `text[]`.
  /// - Returns: the key of the result that says whether another sweep holds one.
  fileprivate mutating func lockSweeps(of people: String, inSweepOf person: ErasureSweep.Person)
    -> Work.Key
  {
    let queued = """
      SELECT q.user_id FROM notification_erasures q
      WHERE q.user_id = ANY (\(people)) AND q.user_id <> $1
      """
    return add(
      Statement(
        """
        WITH locked AS MATERIALIZED (\(queued) FOR UPDATE SKIP LOCKED)
        SELECT is_held, set_config('magpie.sweeps_are_free', (NOT is_held)::text, true)
        FROM (SELECT EXISTS (\(queued) AND q.user_id NOT IN (SELECT l.user_id FROM locked l))) AS f (is_held)
        """, [.text(person.id)]))
  }
}

extension ErasureSweep.Person {
  /// The time of the changes that the sweep causes: later than the erasure, so that those to the notifications of
  /// somebody new with the same id have an effect.
  var changesAt: EventTime {
    max(.now, EventTime(microseconds: erasedAt.microseconds + 1))
  }
}
