/// The statements that delete garbage, which nobody reads: entries below their feed's floor, and
/// entries of retired keys.
///
/// They go through the table in the order in which it is stored, some blocks at a time: entries of
/// about one age lie side by side, so a page is written once for many of them. By owner it would be
/// a page for each (measured: ten times the WAL). The lane that holds the row ('garbage', 0) of
/// feed_trims has the turn. No lock of a feed is needed: whoever lowers a floor deletes what is below
/// it first. These statements wait for nobody but another lane that begins a round, and come after
/// those that do: others, who delete entries in another order, may wait for them.
enum SweepSQL {
  /// Begins another round if there was new garbage since the last one began: rows of any person but 0.
  /// Each transaction that makes garbage adds one of its own number, so that none waits for another.
  static let begin = """
    WITH asked AS (
      DELETE FROM feed_trims t
      WHERE (t.kind, t.person) IN (
        SELECT kind, person FROM feed_trims
        WHERE kind = 'garbage' AND person > 0 FOR UPDATE SKIP LOCKED)
        AND NOT EXISTS (SELECT FROM feed_trims WHERE kind = 'garbage' AND person = 0)
      RETURNING t.kind
    )
    INSERT INTO feed_trims (kind, person) SELECT DISTINCT kind, 0 FROM asked
    ON CONFLICT DO NOTHING
    """

  /// Takes the next blocks, the same in each partition. $1 how many.
  static let pick = """
    WITH turn AS MATERIALIZED (
      SELECT t.done_to
      FROM feed_trims t
      WHERE t.kind = 'garbage' AND t.person = 0
      FOR UPDATE SKIP LOCKED
    ),
    blocks AS MATERIALIZED (
      SELECT
        max(pg_relation_size(i.inhrelid)) / current_setting('block_size')::bigint AS blocks
      FROM pg_inherits i
      WHERE i.inhparent = to_regclass('feed_entries') AND EXISTS (SELECT FROM turn)
    ),
    moved AS (
      UPDATE feed_trims t
      SET done_to = u.done_to + $1::bigint
      FROM turn u, blocks b
      WHERE t.kind = 'garbage' AND t.person = 0 AND u.done_to + $1::bigint < b.blocks
    ),
    finished AS (
      DELETE FROM feed_trims t
      USING turn u, blocks b
      WHERE t.kind = 'garbage' AND t.person = 0
        AND u.done_to + $1::bigint >= coalesce(b.blocks, 0)
    )
    SELECT
      set_config(
        'magpie.sweep_from', coalesce((SELECT format('(%s,0)', done_to) FROM turn), ''), true),
      set_config(
        'magpie.sweep_to',
        coalesce((SELECT format('(%s,0)', done_to + $1::bigint) FROM turn), ''), true)
    """

  /// Deletes the garbage in these blocks, but for entries that somebody else has locked: they are being
  /// deleted. OFFSET 0 has each key looked up, rather than all retired keys read into memory for a few
  /// blocks.
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
}
