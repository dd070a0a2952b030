/// The last statement of a piece of the backlog.
enum SettleSQL {
  /// Removes completed work from the queues.
  ///
  /// An insert into a queue waits for a transaction that has deleted or updated the row of the same
  /// person. So this runs last, when the piece no longer waits for other locks.
  static let settle = """
    WITH returned AS (
      DELETE FROM feed_returns
      WHERE owner = ANY (string_to_array(current_setting('magpie.settled'), ',')::bigint[])
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
