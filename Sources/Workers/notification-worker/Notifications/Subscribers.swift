import Events
import Handling
import Kinds
import Postgres

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The maximum number of queue rows in one piece, less than that of pairs.
private let jobsMax = 200
/// The maximum number of pairs of post and subscriber in one piece, and so of notifications published.
private let pairsMax = 1_000
private let kind = AlarmCode.authorPost.number

/// Processes a piece of `subscription_work`: sets the alarm of each pair of post and subscriber to what
/// the stored post and the timeline of subscriptions say.
///
/// Publishes every notification of the piece, even an unchanged one: an attempt that published and then
/// failed may have left another state in the log, and only the row of `subscription_work` guarantees
/// that this pair is processed again.
///
/// Needs two round trips, because PostgreSQL cannot compute a notification's id.
func subscribersWork() -> Work {
  var work = Work()
  let taken = work.add(
    Statement(
      """
      SELECT set_config('magpie.subscription_turns', coalesce(array_agg(w.turn)::text, '{}'), true),
        count(*)
      FROM (
        SELECT w.turn FROM subscription_work w ORDER BY w.turn LIMIT $1
        FOR UPDATE SKIP LOCKED
      ) w
      """, [.int8(Int64(jobsMax))]))
  let jobs = work.add(
    Statement(
      """
      SELECT w.turn, w.post_id, w.subscriber, w.after_subscriber, w.wraps_at, w.wrapped,
        CASE WHEN isfinite(w.after_time) THEN w.after_time END, w.after_post, w.caused_at, w.trace
      FROM subscription_work w WHERE w.turn = ANY (\(takenTurns))
      """))
  work.add(candidates())
  let locked = work.add(
    Statement(
      """
      SELECT r.user_id FROM notification_recipients r
      WHERE r.user_id IN (
        SELECT c.subscriber COLLATE "C"
        FROM unnest(
          current_setting('magpie.subscription_people')::text[],
          current_setting('magpie.subscription_concerns')::boolean[]
        ) AS c (subscriber, concerns)
        WHERE c.concerns)
      ORDER BY r.user_id
      FOR UPDATE SKIP LOCKED
      """))
  let pairs = work.add(
    Statement(
      """
      SELECT c.* FROM unnest(
        current_setting('magpie.subscription_jobs')::bigint[],
        current_setting('magpie.subscription_posts')::text[],
        current_setting('magpie.subscription_people')::text[],
        current_setting('magpie.subscription_times')::timestamptz[],
        current_setting('magpie.subscription_concerns')::boolean[],
        current_setting('magpie.subscription_ends')::boolean[]
      ) AS c (turn, post_id, subscriber, first_at, concerns, ends)
      """))
  work.finish = { results in
    guard try results[taken].only.int(1) > 0 else { return Outcome() }
    let free = Set(try results[locked].map { BytewiseString(try $0.text(0)) })
    let pairs = Dictionary(grouping: try results[pairs].map(Pair.init), by: \.turn)
    var piece = try SubscribersPiece(jobs: results[jobs])
    for turn in piece.jobs.keys {
      piece.jobs[turn]?.advance(over: pairs[turn] ?? []) { free.contains($0) }
    }
    return piece.outcome()
  }
  return work
}

private let takenTurns = "current_setting('magpie.subscription_turns')::bigint[]"

/// Saves the next pairs of the rows taken in `magpie.subscription_…`, in order: the first of each row,
/// then the second of each, and so on.
///
/// A pair concerns the worker if the subscriber was subscribed before the post's newest event: otherwise
/// no state of the post and of the timeline has ever caused an alarm, and there is nothing to withdraw.
private func candidates() -> Statement {
  Statement(
    """
    WITH RECURSIVE taken AS MATERIALIZED (
      SELECT w.*, CASE WHEN w.wrapped THEN w.wraps_at END AS until
      FROM subscription_work w WHERE w.turn = ANY (\(takenTurns))
    ),
    -- One look-up by key for each subscriber, however many subscriptions they have.
    walk AS (
      SELECT t.turn, t.author, t.post_id, t.until, s.subscriber, 1 AS place
      FROM taken t
      CROSS JOIN LATERAL (
        SELECT s.subscriber FROM author_subscriptions s
        WHERE t.post_id <> '' AND s.author = t.author AND s.subscriber > t.after_subscriber
          AND (t.until IS NULL OR s.subscriber <= t.until)
        ORDER BY s.subscriber LIMIT 1
      ) s
      UNION ALL
      SELECT w.turn, w.author, w.post_id, w.until, s.subscriber, w.place + 1
      FROM walk w
      CROSS JOIN LATERAL (
        SELECT s.subscriber FROM author_subscriptions s
        WHERE s.author = w.author AND s.subscriber > w.subscriber
          AND (w.until IS NULL OR s.subscriber <= w.until)
        ORDER BY s.subscriber LIMIT 1
      ) s
    ),
    pairs AS MATERIALIZED (
      -- The recursion goes from place to place and ends here.
      (
        SELECT w.turn, w.place, w.author, w.post_id, w.subscriber, NULL::timestamptz AS first_at,
          w.until, NULL::timestamptz AS upto_time
        FROM walk w LIMIT $1
      )
      UNION ALL
      SELECT t.turn, p.place, t.author, p.post_id, t.subscriber, p.first_at, NULL, t.upto_time
      FROM taken t
      CROSS JOIN LATERAL (
        SELECT p.post_id, p.first_at, row_number() OVER (ORDER BY p.first_at, p.post_id) AS place
        FROM post_facts p
        WHERE t.post_id = '' AND p.author = t.author AND p.first_at < t.upto_time
          AND (p.first_at, p.post_id) > (t.after_time, t.after_post)
        ORDER BY p.first_at, p.post_id
        LIMIT (SELECT greatest($1 / greatest(count(*), 1), 1) FROM taken)
      ) p
    ),
    piece AS MATERIALIZED (
      SELECT p.*, p.place = max(p.place) OVER (PARTITION BY p.turn) AS is_last
      FROM (SELECT p.* FROM pairs p ORDER BY p.place, p.turn LIMIT $1) p
    ),
    checked AS MATERIALIZED (
      SELECT p.*,
        p.first_at IS NOT NULL OR EXISTS (
          SELECT FROM author_subscriptions s
          WHERE s.author = p.author AND s.subscriber = p.subscriber AND s.subscribed
            AND s.at <= (SELECT f.version_time FROM post_facts f WHERE f.post_id = p.post_id)
        ) AS concerns,
        -- Whether the row has no pair after this one.
        CASE WHEN NOT p.is_last THEN false
          WHEN p.first_at IS NULL THEN NOT EXISTS (
            SELECT FROM author_subscriptions s
            WHERE s.author = p.author AND s.subscriber > p.subscriber
              AND (p.until IS NULL OR s.subscriber <= p.until))
          ELSE NOT EXISTS (
            SELECT FROM post_facts f
            WHERE f.author = p.author AND f.first_at < p.upto_time
              AND (f.first_at, f.post_id) > (p.first_at, p.post_id))
        END AS ends
      FROM piece p
    )
    SELECT
      set_config('magpie.subscription_jobs', coalesce(array_agg(c.turn)::text, '{}'), true),
      set_config('magpie.subscription_posts', coalesce(array_agg(c.post_id)::text, '{}'), true),
      set_config('magpie.subscription_people', coalesce(array_agg(c.subscriber)::text, '{}'), true),
      set_config('magpie.subscription_times', coalesce(array_agg(c.first_at)::text, '{}'), true),
      set_config('magpie.subscription_concerns', coalesce(array_agg(c.concerns)::text, '{}'), true),
      set_config('magpie.subscription_ends', coalesce(array_agg(c.ends)::text, '{}'), true)
    FROM (SELECT c.* FROM checked c ORDER BY c.turn, c.place) c
    """, [.int8(Int64(pairsMax))])
}

/// A post and one of the people who subscribed to its author.
private struct Pair {
  /// The queue row's turn.
  var turn: Int64
  var post: String
  var subscriber: String
  /// Of a row about a subscriber: the post's time.
  var postedAt: Int64?
  var concerns: Bool
  /// Whether the row has no pair after this one.
  var ends: Bool

  init(_ row: Row) throws {
    (turn, post, subscriber) = (try row.int8(0), try row.text(1), try row.text(2))
    (postedAt, concerns, ends) = (try row.timestamptzOrNil(3), try row.bool(4), try row.bool(5))
  }
}

/// A row of `subscription_work`.
private struct Job {
  var turn: Int64
  /// Empty if the row is about a subscriber.
  var post: String
  var subscriber: String
  var afterSubscriber: String
  var wrapsAt: String?
  var wrapped: Bool
  /// Nil in a row about a post.
  var afterTime: Int64?
  var afterPost: String
  var cause: Cause

  var processed: [Pair] = []
  var isFinished = false
  var hasMoved = false

  init(_ row: Row) throws {
    (turn, post, subscriber) = (try row.int8(0), try row.text(1), try row.text(2))
    (afterSubscriber, wrapsAt) = (try row.text(3), try row.textOrNil(4))
    (wrapped, afterTime) = (try row.bool(5), try row.timestamptzOrNil(6))
    afterPost = try row.text(7)
    cause = Cause(
      time: EventTime(microseconds: try row.timestamptz(8)),
      trace: try row.textOrNil(9).flatMap { TraceContext($0) })
  }

  /// Takes the pairs up to the first whose subscriber another transaction has locked.
  mutating func advance(over pairs: [Pair], isFree: (BytewiseString) -> Bool) {
    let passed = pairs.prefix { !$0.concerns || isFree(BytewiseString($0.subscriber)) }
    processed = passed.filter(\.concerns)
    hasMoved = !passed.isEmpty
    if let last = passed.last {
      (afterSubscriber, afterPost) = (last.subscriber, last.post)
      afterTime = last.postedAt ?? afterTime
    }
    guard passed.count == pairs.count, pairs.last?.ends ?? true else { return }
    hasMoved = true
    if wrapsAt != nil, !wrapped {
      (afterSubscriber, wrapped) = ("", true)
    } else {
      isFinished = true
    }
  }
}

/// The second half of a piece: its pairs are locked.
private struct SubscribersPiece {
  var jobs: [Int64: Job] = [:]

  init(jobs rows: Rows) throws {
    for row in rows {
      let job = try Job(row)
      jobs[job.turn] = job
    }
  }

  func outcome() -> Outcome {
    var causes = Causes([])
    var (posts, people): ([String], [String]) = ([], [])
    var seen = Set<Key>()
    for job in jobs.values.sorted(by: { $0.turn < $1.turn }) {
      if job.post.isEmpty {
        causes.add(recipient: job.subscriber, type: kind, job.cause)
      } else {
        causes.add(type: kind, subject: job.post, job.cause)
      }
      for pair in job.processed where seen.insert(Key(pair.post, pair.subscriber)).inserted {
        posts.append(pair.post)
        people.append(pair.subscriber)
      }
    }
    var outcome = Outcome(
      counts: ["subscriptions_checked": posts.count],
      hasMore: jobs.values.contains(where: \.hasMoved))
    outcome.statements = progress()
    guard !posts.isEmpty else { return outcome }
    let ids = zip(posts, people).map { post, person in
      notificationID(recipient: person, kind: kind, subject: post, bucket: "", source: post)
    }
    outcome.statements += [
      write(posts, people, ids),
      recomputeNotifications(
        recipients: distinct(people),
        touched: """
          SELECT t.notification_id, t.recipient COLLATE "C", \(kind)::smallint, t.subject COLLATE "C"
          FROM unnest($2::uuid[], $3::text[], $4::text[])
            AS t (notification_id, recipient, subject)
          """, [.uuidArray(ids), .textArray(people), .textArray(posts)]),
    ]
    outcome.eventsFromResults = { [causes, place = outcome.statements.count - 1] rows in
      try snapshots(rows[place], causes: causes).events
    }
    return outcome
  }

  /// Saves how far each row is. A row that is not finished goes to the end of the queue.
  private func progress() -> [Statement] {
    let rows = jobs.values.filter { !$0.isFinished }
    return [
      Statement(
        "DELETE FROM subscription_work w WHERE w.turn = ANY ($1::bigint[])",
        [.int8Array(jobs.values.filter(\.isFinished).map(\.turn))]),
      Statement(
        """
        UPDATE subscription_work w
        SET after_subscriber = j.after_subscriber, wrapped = j.wrapped,
          after_time = coalesce(j.after_time, w.after_time), after_post = j.after_post,
          turn = DEFAULT
        FROM unnest($1::bigint[], $2::text[], $3::boolean[], $4::timestamptz[], $5::text[])
          AS j (turn, after_subscriber, wrapped, after_time, after_post)
        WHERE w.turn = j.turn
        """,
        [
          .int8Array(rows.map(\.turn)), .textArray(rows.map(\.afterSubscriber)),
          .boolArray(rows.map(\.wrapped)), .timestamptzArray(rows.map(\.afterTime)),
          .textArray(rows.map(\.afterPost)),
        ]),
    ]
  }
}

/// Sets the contributions of the pairs. A pair that should have none leaves no row.
private func write(_ posts: [String], _ people: [String], _ ids: [UUID]) -> Statement {
  Statement(
    """
    WITH wanted AS MATERIALIZED (
      SELECT e.post_id, e.recipient, e.notification_id, p.author, p.head_text, p.first_at,
        coalesce(
          NOT p.deleted AND e.recipient <> p.author
            AND is_subscribed(p.author, e.recipient, p.first_at)
            -- A sweep waits for this piece, which retracts what an earlier attempt may have published.
            AND NOT EXISTS (
              SELECT FROM erasures u WHERE u.user_id = p.author AND u.erased_at >= p.first_at), false) AS is_wanted
      FROM unnest($1::text[], $2::text[], $3::uuid[]) AS e (post_id, recipient, notification_id)
      LEFT JOIN LATERAL (SELECT f.* FROM post_facts f WHERE f.post_id = e.post_id LIMIT 1) p ON true
    ),
    removed AS (
      DELETE FROM notification_actors a
      WHERE a.ctid = ANY (ARRAY(
        SELECT o.ctid FROM wanted w
        CROSS JOIN LATERAL (
          SELECT c.ctid FROM notification_actors c
          WHERE c.recipient = w.recipient AND c.type = \(kind) AND c.subject = w.post_id
            AND c.source = w.post_id
          LIMIT 1
        ) o
        WHERE NOT w.is_wanted))
    )
    INSERT INTO notification_actors AS a
      (recipient, type, subject, source, actor, active, muted, first_at, notification_id, post_id,
       head_text, version_time, version_id, grouped)
    SELECT w.recipient, \(kind), w.post_id, w.post_id, w.author, true,
      contribution_muted(w.recipient, \(kind)::smallint, w.post_id, w.author, w.first_at),
      w.first_at, w.notification_id, w.post_id, w.head_text, w.first_at, '', false
    FROM wanted w WHERE w.is_wanted
    ORDER BY w.recipient COLLATE "C", w.post_id COLLATE "C"
    ON CONFLICT (recipient, type, subject, source) DO UPDATE SET
      actor = EXCLUDED.actor, active = true, muted = EXCLUDED.muted, first_at = EXCLUDED.first_at,
      notification_id = EXCLUDED.notification_id, post_id = EXCLUDED.post_id,
      head_text = EXCLUDED.head_text, version_time = EXCLUDED.version_time,
      version_id = EXCLUDED.version_id, grouped = false
    WHERE (a.actor, a.active, a.muted, a.first_at, a.head_text, a.post_id) IS DISTINCT FROM (
      EXCLUDED.actor, true, EXCLUDED.muted, EXCLUDED.first_at, EXCLUDED.head_text, EXCLUDED.post_id)
    """, [.textArray(posts), .textArray(people), .uuidArray(ids)])
}
