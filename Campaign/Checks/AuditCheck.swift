import Postgres

/// Checks the audit of offset changes, and by transaction id which rows changed in the same
/// transactions.
struct AuditCheck {
  let connection: Connection

  /// All violations in the audit so far. Valid while workers write.
  func findings() throws -> [Finding] {
    try broken(.offsets, "to_offset < from_offset", "an offset decreased")
      + broken(
        .ranges,
        """
        (from_offset, from_epoch) IS DISTINCT FROM (before_offset, before_epoch)
        """, "a change does not start at the previous one's end")
      + broken(
        .epochs, "isClaim AND to_epoch <> coalesce(from_epoch, 0) + 1",
        "a claim did not increment the epoch by one")
      + broken(
        .epochs, "NOT isClaim AND (process <> owner OR to_epoch <> owner_epoch)",
        "a process that does not own the partition changed its offset")
  }

  /// Rows that were written neither by a transaction that advanced an offset nor by the sweep of an erasure. Valid
  /// only before a replay, after which later transactions may have written rows.
  func strays() throws -> [Finding] {
    let tables = ["follows", "posts", "messages", "likes", "comments", "profiles"]
    var findings: [Finding] = []
    for table in tables {
      let count = try connection.query(
        """
        SELECT count(*) FROM \(table) r
        WHERE NOT EXISTS (SELECT FROM batch_audit a WHERE a.xmin = r.xmin)
          AND NOT EXISTS (SELECT FROM campaign_sweeps s WHERE s.xmin = r.xmin)
        """
      ).only.int(0)
      guard count > 0 else { continue }
      findings.append(
        Finding(
          check: .transactions,
          text: "\(count) rows of \(table) were written by transactions that advanced no offset"))
    }
    let letters = try connection.query(
      """
      SELECT format('%s %s[%s]@%s', consumer_group, topic, partition, record_offset)
      FROM dead_letters d
      WHERE NOT EXISTS (
        SELECT FROM batch_audit a
        WHERE (a.consumer_group, a.topic, a.partition) = (d.consumer_group, d.topic, d.partition)
          AND d.record_offset >= a.from_offset AND d.record_offset < a.to_offset
          AND a.xmin = d.xmin)
        AND NOT EXISTS (SELECT FROM campaign_sweeps s WHERE s.xmin = d.xmin)
      LIMIT 5
      """
    ).map { "\(try $0.text(0)) was not written by the transaction that advanced past it" }
    return findings + letters.map { Finding(check: .transactions, text: $0) }
  }

  /// The number of transactions that advanced offsets.
  func commits() throws -> Int {
    try connection.query(
      """
      SELECT count(DISTINCT (backend, xmin::text)) FROM batch_audit WHERE to_offset > from_offset
      """
    ).only.int(0)
  }

  /// Claims of a partition by a process that did not own it before, with times in milliseconds.
  func handovers() throws -> [Handover] {
    try connection.query(
      """
      SELECT topic, partition, to_offset, (extract(epoch FROM written_at) * 1000)::bigint
      FROM (\(Self.moves)) m WHERE isClaim AND from_offset IS NOT NULL AND process <> former_owner
      """
    ).map { row in
      Handover(
        topic: try row.text(0), partition: Int32(try row.int(1)), offset: try row.int8(2),
        atMilliseconds: try row.int8(3))
    }
  }

  struct Handover {
    var topic: String
    var partition: Int32
    /// The first record that was not applied yet.
    var offset: Int64
    var atMilliseconds: Int64
  }

  private func broken(_ check: Finding.Check, _ condition: String, _ what: String) throws
    -> [Finding]
  {
    try connection.query(
      """
      SELECT format('%s %s[%s]: entry %s by %s changes %s to %s, epoch %s to %s; previously %s, '
        || 'epoch %s, owned by %s',
        consumer_group, topic, partition, entry, process, coalesce(from_offset::text, 'none'),
        to_offset, coalesce(from_epoch::text, 'none'), to_epoch,
        coalesce(before_offset::text, 'none'), coalesce(before_epoch::text, 'none'),
        coalesce(owner, 'none'))
      FROM (\(Self.moves)) m WHERE \(condition) ORDER BY entry LIMIT 5
      """
    ).map { Finding(check: check, text: "\(what): \(try $0.text(0))") }
  }

  /// Each change with the preceding one and the process that last claimed the partition.
  private static let moves = """
    SELECT m.*, c.process AS owner, c.to_epoch AS owner_epoch, f.process AS former_owner
    FROM (
      SELECT a.*, a.to_offset IS NOT DISTINCT FROM a.from_offset OR a.from_offset IS NULL AS isClaim,
        lag(a.to_offset) OVER w AS before_offset, lag(a.to_epoch) OVER w AS before_epoch,
        max(a.entry) FILTER (
          WHERE a.from_offset IS NULL OR a.to_offset = a.from_offset
        ) OVER w AS claim,
        max(a.entry) FILTER (
          WHERE a.from_offset IS NULL OR a.to_offset = a.from_offset
        ) OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS former_claim
      FROM batch_audit a
      WINDOW w AS (PARTITION BY a.consumer_group, a.topic, a.partition ORDER BY a.entry)
    ) m
    LEFT JOIN batch_audit c ON c.entry = m.claim
    LEFT JOIN batch_audit f ON f.entry = m.former_claim
    """
}
