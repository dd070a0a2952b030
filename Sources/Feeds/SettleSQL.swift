/// The last statement of a piece of the backlog.
enum SettleSQL {
  /// Takes off the queues what this piece has done.
  ///
  /// Whoever queues somebody waits for a transaction that deletes or updates the row of the same
  /// person. So this comes last, when the piece waits for nobody any more.
  static let settle = """
    WITH returned AS (
      DELETE FROM feed_returns
      WHERE owner = ANY (string_to_array(current_setting('magpie.returning'), ',')::bigint[])
    ),
    trimmed AS (
      DELETE FROM feed_trims
      WHERE kind = 'owner'
        AND person = ANY (string_to_array(current_setting('magpie.trimmed'), ',')::bigint[])
    ),
    advanced AS (
      UPDATE feed_trims
      SET done_to = current_setting('magpie.round_done_to')::bigint
      WHERE kind = 'followers' AND person = nullif(current_setting('magpie.round'), '')::bigint
        AND current_setting('magpie.round_done_to') <> ''
    )
    DELETE FROM feed_trims
    WHERE kind = 'followers' AND person = nullif(current_setting('magpie.round'), '')::bigint
      AND current_setting('magpie.round_done_to') = ''
    """
}
