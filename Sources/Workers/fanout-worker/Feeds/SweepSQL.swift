/// The statements that delete garbage, which no query reads: entries below their feed's floor, and
/// entries of retired keys.
///
/// They scan the table in physical order, some blocks at a time: entries of similar age are stored
/// together, so one page write covers many of them. In owner order each entry would dirty a page of
/// its own (measured: ten times the WAL). The lane that locks the row ('garbage', 0) of feed_trims
/// sweeps. No feed needs to be locked, because a transaction that lowers a floor first deletes what
/// is below it. These statements wait only for another lane that begins a round. They run after the
/// statements that wait for locks, because other transactions, which delete entries in a different
/// order, may wait for them.
enum SweepSQL {
  /// The part of a statement that asks for a round, if `rows` has any: its transaction creates garbage.
  static func request(if rows: String) -> String {
    """
    INSERT INTO feed_trims (kind, person)
    SELECT 'garbage', pg_current_xact_id()::text::bigint WHERE EXISTS (\(rows))
    ON CONFLICT DO NOTHING
    """
  }

  /// Begins a round if garbage was created since the last one began, which rows with person > 0
  /// record. Each transaction that creates garbage uses its own transaction number as person, so
  /// that none waits for another.
  static let begin = """
    WITH requested AS (
      DELETE FROM feed_trims t
      WHERE (t.kind, t.person) IN (
        SELECT kind, person FROM feed_trims
        WHERE kind = 'garbage' AND person > 0 FOR UPDATE SKIP LOCKED)
        AND NOT EXISTS (SELECT FROM feed_trims WHERE kind = 'garbage' AND person = 0)
      RETURNING t.kind
    )
    INSERT INTO feed_trims (kind, person) SELECT DISTINCT kind, 0 FROM requested
    ON CONFLICT DO NOTHING
    """

  /// Takes the next range of blocks, the same in each partition. $1 how many blocks.
  static let pick = """
    -- The position of the current round, unless another lane is sweeping.
    WITH round AS MATERIALIZED (
      SELECT t.done_to
      FROM feed_trims t
      WHERE t.kind = 'garbage' AND t.person = 0
      FOR UPDATE SKIP LOCKED
    ),
    -- The size of the largest partition.
    blocks AS MATERIALIZED (
      SELECT
        max(pg_relation_size(p.relid)) / current_setting('block_size')::bigint AS blocks
      FROM pg_partition_tree(to_regclass('feed_entries')) p
      WHERE p.isleaf AND EXISTS (SELECT FROM round)
    ),
    moved AS (
      UPDATE feed_trims t
      SET done_to = u.done_to + $1::bigint
      FROM round u, blocks b
      WHERE t.kind = 'garbage' AND t.person = 0 AND u.done_to + $1::bigint < b.blocks
    ),
    finished AS (
      DELETE FROM feed_trims t
      USING round u, blocks b
      WHERE t.kind = 'garbage' AND t.person = 0
        AND u.done_to + $1::bigint >= coalesce(b.blocks, 0)
    )
    SELECT
      set_config(
        'magpie.sweep_from', coalesce((SELECT format('(%s,0)', done_to) FROM round), ''), true),
      set_config(
        'magpie.sweep_to',
        coalesce((SELECT format('(%s,0)', done_to + $1::bigint) FROM round), ''), true)
    """

  /// Deletes the garbage in these blocks. Skips locked entries: another transaction is deleting
  /// them. OFFSET 0 forces one lookup per key; without it the planner may read all retired keys
  /// into memory for a few blocks.
  static let sweep = """
    WITH garbage AS MATERIALIZED (
      SELECT e.tableoid, e.ctid
      FROM feed_entries e
      WHERE e.ctid >= nullif(current_setting('magpie.sweep_from'), '')::tid
        AND e.ctid < nullif(current_setting('magpie.sweep_to'), '')::tid
        AND (
          EXISTS (SELECT FROM feeds b WHERE b.owner = e.owner AND e.post_key < b.floor)
          OR EXISTS (SELECT FROM retired_keys r WHERE r.post_key = e.post_key OFFSET 0))
      FOR UPDATE OF e SKIP LOCKED
    )
    DELETE FROM feed_entries e USING garbage g WHERE e.ctid = g.ctid AND e.tableoid = g.tableoid
    """

  /// Forgets retired keys below the floor of all feeds: no page reads an entry there, and none is written. $1 how many.
  static let forget = """
    DELETE FROM retired_keys r
    WHERE r.post_key IN (
      SELECT k.post_key FROM retired_keys k WHERE k.post_key < \(feedHistoryFloor)
      LIMIT $1::bigint FOR UPDATE SKIP LOCKED)
    """
}
